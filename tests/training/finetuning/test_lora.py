"""LoRA: adapters are trained, and what is saved is a plain model."""

import importlib.util
import json
from dataclasses import replace

import pytest
import torch
import transformers

from bertviz_lab import BertForSequenceClassification, load_checkpoint
from bertviz_lab.errors import InputError
from bertviz_lab.model.weights import state_for_huggingface
from bertviz_lab.training.finetuning.lora import add_adapters, merged
from bertviz_lab.training.finetuning.predict import evaluate_task
from bertviz_lab.training.loop.optim import build_finetuning_optimizer
from tests.little import little_checkpoint
from tests.training.finetuning.support import finish
from tests.training.support import after, identical, weights

pytestmark = pytest.mark.filterwarnings("ignore")  # those of the libraries that PEFT imports


def adapted(files) -> tuple[torch.nn.Module, torch.optim.Optimizer]:
    model = little_checkpoint(kind=BertForSequenceClassification, num_labels=3).model
    add_adapters(model, 4)
    return model, build_finetuning_optimizer(model, files.config(lora=4), 0.01)


def test_adapters_and_head_are_trained_and_nothing_else(files) -> None:
    torch.manual_seed(0)
    model, optimizer = adapted(files)
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    ids, labels = torch.randint(5, 60, (4, 7)), torch.tensor([0, 1, 2, 1])
    for _ in range(2):  # B is zero at first, and so is the gradient of A
        model(ids, labels=labels).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    changed = {name for name, p in model.named_parameters() if not torch.equal(p, before[name])}
    adapters = {name for name in before if ".lora_" in name}
    assert changed == adapters | {"classifier.weight", "classifier.bias"}
    layers = model.config.num_hidden_layers
    assert len(adapters) == layers * 2 * 2
    assert all("query" in name or "value" in name for name in adapters)


def test_the_merged_model_is_plain_and_computes_the_same(files) -> None:
    torch.manual_seed(0)
    model, _ = adapted(files)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if ".lora_" in name:
                parameter.normal_(std=0.3)
    plain = merged(model)
    reference = little_checkpoint(kind=BertForSequenceClassification, num_labels=3).model
    assert state_for_huggingface(plain).keys() == state_for_huggingface(reference).keys()
    ids = torch.randint(5, 60, (4, 7))
    with torch.no_grad():
        torch.testing.assert_close(plain.eval()(ids).logits, model.eval()(ids).logits, atol=1e-5, rtol=0)
        assert not torch.allclose(plain(ids).logits, reference.eval()(ids).logits, atol=1e-3)
    assert merged(plain) is plain


def test_a_run_leaves_a_folder_that_transformers_opens_whole(files, tmp_path) -> None:
    finish(files.config(lora=4), tmp_path / "run")
    folder = tmp_path / "run" / "model"
    theirs, info = transformers.AutoModelForSequenceClassification.from_pretrained(folder, output_loading_info=True)
    assert not info["missing_keys"]
    assert not info["unexpected_keys"]
    ours, start = load_checkpoint(folder), load_checkpoint(files.model)
    ids = torch.tensor([ours.tokenizer.encode("the red cat").ids])
    with torch.no_grad():
        torch.testing.assert_close(ours.model(ids).logits, theirs.eval()(ids).logits, atol=1e-5, rtol=0)
    before, after_it = (dict(c.model.bert.named_parameters()) for c in (start, ours))
    moved = {name for name in before if not torch.equal(before[name], after_it[name])}
    assert moved
    assert all(name.endswith(("query.weight", "value.weight")) for name in moved)
    scores = evaluate_task(ours, [tmp_path / "run" / "examples" / "held_out.jsonl"], "classification", threads=1)
    best = json.loads((tmp_path / "run" / "report.json").read_text())["scores"]
    assert scores == {name: best[name] for name in scores}


def test_a_stopped_run_resumes_to_the_same_model(files, tmp_path) -> None:
    config = files.config("regression", lora=2)
    finish(config, tmp_path / "whole")
    first = finish(config, tmp_path / "halves", should_stop=after(3))
    assert first[-1].reason == "stopped"
    finish(config, tmp_path / "halves", resume=True)
    assert identical(weights(tmp_path / "whole" / "model"), weights(tmp_path / "halves" / "model"))


def test_without_peft_it_is_refused_in_a_sentence(files, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"--lora needs the PEFT library: pip install"):
        finish(files.config(lora=4), tmp_path / "run")


def test_it_goes_with_nothing_that_freezes_otherwise(files) -> None:
    for changes in ({"freeze_layers": 1}, {"layerwise_lr_decay": 0.9}, {"model": "random"}):
        with pytest.raises(InputError, match="--lora trains adapters"):
            replace(files.config(lora=4), **changes)
