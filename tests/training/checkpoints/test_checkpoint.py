"""A checkpoint is a Hugging Face folder: in, out, whole or not at all, and clear about what is wrong with it."""

import os
import re
from pathlib import Path

import pytest
import torch
import transformers
from huggingface_hub import save_torch_state_dict
from safetensors.torch import load_file, save_file

from bertviz_lab.errors import InputError
from bertviz_lab.model import BertForMaskedLM
from bertviz_lab.model.weights import state_for_huggingface
from bertviz_lab.training.checkpoints.checkpoint import load_checkpoint, model_name, save_checkpoint, write_checkpoint
from tests.model.support import (
    MASKED_LM,
    PRETRAINING,
    SEQUENCE,
    every_kind,
    inputs,
    largest_difference,
    same_weights,
)
from tests.training.support import checkpoint_of


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_the_model_of_a_run_has_the_name_of_the_run(tokenizer, tmp_path):
    """Two runs are told apart: the folder of either's model is called `model`."""
    saved = checkpoint_of(MASKED_LM, tokenizer)
    names = [load_checkpoint(save_checkpoint(saved, tmp_path / name / "model")).name for name in ("first", "second")]
    assert names == ["first", "second"]
    (tmp_path / "first" / "config.json").write_text('{"kind": "pretrain"}')
    by_run = load_checkpoint(tmp_path / "first")
    assert (by_run.name, by_run.path) == ("first", tmp_path / "first" / "model")
    assert model_name("runs/kind-otter-0123456789abcdef/model") == "kind-otter", "its secret is not passed on"
    assert [model_name(name) for name in ("model", "tiny-town", "google/bert_uncased_L-2_H-128_A-2")] == [
        "model",
        "tiny-town",
        "google/bert_uncased_L-2_H-128_A-2",
    ]


@every_kind
def test_saving_and_loading_changes_nothing(kind, tokenizer, tmp_path):
    saved = checkpoint_of(kind, tokenizer)
    loaded = load_checkpoint(save_checkpoint(saved, tmp_path / "saved"))
    assert loaded.architecture == saved.architecture
    assert loaded.config == saved.config
    assert loaded.card == saved.card
    assert loaded.name == "saved"
    assert loaded.tokenizer.fingerprint == tokenizer.fingerprint
    assert same_weights(saved.model, loaded.model)


def test_a_head_that_is_missing_is_named_and_starts_the_same_each_time(tokenizer, tmp_path):
    folder = save_checkpoint(checkpoint_of(MASKED_LM, tokenizer), tmp_path / "model")
    state = load_file(folder / "model.safetensors")
    save_file({n: t for n, t in state.items() if not n.startswith("cls.")}, folder / "model.safetensors")
    torch.manual_seed(1)
    with pytest.warns(UserWarning, match="predicts at random: its files lack cls.predictions.bias of BertForM"):
        one = load_checkpoint(folder)
    torch.manual_seed(2)
    expected = torch.rand(3)
    torch.manual_seed(2)
    other = load_checkpoint(folder, quiet=True)
    assert torch.equal(torch.rand(3), expected), "loading draws from nobody's random stream"
    assert type(one.model) is BertForMaskedLM
    assert len(one.report.missing) == 5
    assert all(name.startswith("cls.predictions.") for name in one.report.missing)
    assert torch.equal(one.model.mlm.transform.weight, other.model.mlm.transform.weight)


def test_weights_of_another_class_than_the_config_names_are_pointed_out(tokenizer, tmp_path):
    folder = save_checkpoint(checkpoint_of(SEQUENCE, tokenizer), tmp_path / "model")
    config = (folder / "config.json").read_text()
    (folder / "config.json").write_text(config.replace("SequenceClassification", "MaskedLM"))
    assert "and have classifier." in load_checkpoint(folder, quiet=True).random_head


@pytest.mark.parametrize(
    ("files", "command"),
    [
        (["adapter_config.json"], "AutoPeftModelForSequenceClassification as M; .*T.from_pretrained('BASE'"),
        (["tf_model.h5", "config.json"], "import BertForMaskedLM as M; .* from_tf=True"),
        (["flax_model.msgpack", "config.json"], "from_flax=True"),
        (["bert_config.json", "bert_model.ckpt.index"], "bert_model.ckpt.index', from_tf=True, config="),
        (["bert_config.json", "pytorch_model.bin"], "mv .*/bert_config.json .*/config.json"),
        (["checkpoint-90/config.json", "checkpoint-500/config.json"], "--model .*/checkpoint-500"),
        (["config.json", "epoch=3.ckpt"], "torch.load('.*/epoch=3.ckpt'"),
        (["inner/config.json"], "--model .*/inner"),
        (["config.json", "zero_to_fp32.py", "global_step5/states.pt"], "python .*/zero_to_fp32.py"),
        (["config.json", "optimizer_0/0.distcp", "pytorch_model_fsdp_0/0.distcp"], "merge-weights .*_fsdp_0"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_a_model_in_another_form_is_refused_with_the_command_that_helps(files, command, tmp_path):
    body = '{"architectures": ["BertForMaskedLM"], "task_type": "SEQ_CLS", "base_model_name_or_path": "BASE\'; rm -r"}'
    for name in files:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(body)
    with pytest.raises(InputError, match=re.sub(r"[()]", r"\\\g<0>", command)) as caught:
        load_checkpoint(tmp_path)
    assert "rm" not in str(caught.value).split()


def test_a_rename_that_fails_brings_the_old_folder_back(folder, tokenizer, monkeypatch):
    before, rename = files(folder), Path.rename

    def fail_for_the_new(self: Path, target: Path) -> Path:
        if Path(target) == folder and not self.name.endswith("-old"):
            raise OSError(5, "Input/output error")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fail_for_the_new)
    with pytest.raises(OSError, match="Input/output"):
        save_checkpoint(checkpoint_of(MASKED_LM, tokenizer), folder)
    assert files(folder) == before
    assert os.listdir(folder.parent) == ["model"]


def test_saving_again_replaces_the_whole_model_and_nothing_else(folder, tokenizer):
    for name in ("modules.json", "model-00002-of-00002.safetensors", "onnx/model.onnx", "notes.txt", ".git/HEAD"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("of the old model")
    save_checkpoint(checkpoint_of(MASKED_LM, tokenizer), folder)
    kept = [
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and path.read_bytes() == b"of the old model"
    ]
    assert sorted(kept) == [".git/HEAD", "notes.txt"]
    assert type(load_checkpoint(folder).model) is BertForMaskedLM
    assert os.listdir(folder.parent) == ["model"]


def test_a_folder_of_something_else_is_not_replaced(tokenizer, tmp_path):
    documents = tmp_path / "documents"
    documents.mkdir()
    (documents / "novel.txt").write_text("years of work")
    with pytest.raises(InputError, match="holds something other than a model"):
        save_checkpoint(checkpoint_of(MASKED_LM, tokenizer), documents)
    assert files(documents) == {"novel.txt": b"years of work"}
    with pytest.raises(InputError, match="holds something other than a model"):
        save_checkpoint(checkpoint_of(MASKED_LM, tokenizer), documents / "novel.txt")


def test_weights_in_16_bits_and_several_files_are_opened_by_both(tokenizer, tmp_path):
    saved = checkpoint_of(PRETRAINING, tokenizer)
    write_checkpoint(saved, tmp_path)
    (tmp_path / "model.safetensors").unlink()
    halves = {name: tensor.half() for name, tensor in state_for_huggingface(saved.model).items()}
    save_torch_state_dict(halves, tmp_path, max_shard_size=20_000)
    sizes = [path.stat().st_size for path in tmp_path.glob("model-*.safetensors")]
    assert len(sizes) > 1
    assert not (tmp_path / "model.safetensors").exists()
    again = load_checkpoint(tmp_path)
    assert not again.report.missing
    rounded = {name: p.half().float() for name, p in saved.model.named_parameters()}
    assert all(torch.equal(p, rounded[name]) for name, p in again.model.named_parameters())
    theirs = transformers.AutoModelForPreTraining.from_pretrained(tmp_path).eval()
    assert theirs.dtype == torch.float32
    one, other = again.model(**inputs()), theirs(**inputs())
    assert all(largest_difference(getattr(one, name), getattr(other, name)) < 1e-5 for name in PRETRAINING.outputs)
