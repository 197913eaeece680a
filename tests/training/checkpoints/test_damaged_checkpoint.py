"""A checkpoint with something wrong, or none at all, gets one clear sentence."""

import json
from pathlib import Path

import psutil
import pytest
import torch
from safetensors.torch import load_file, save_file

from bertviz_lab.errors import InputError
from bertviz_lab.training.checkpoints.checkpoint import load_checkpoint
from tests.little import little_folder
from tests.training.support import rewrite_config


def spoil_config(**changes):
    return lambda folder: rewrite_config(folder, **changes)


def remove(name: str):
    return lambda folder: (folder / name).unlink()


def write(name: str, content: bytes):
    return lambda folder: (folder / name).write_bytes(content)


def only_a_pickle(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")


def drop_a_layer(folder: Path) -> None:
    state = load_file(folder / "model.safetensors")
    kept = {name: tensor for name, tensor in state.items() if "layer.2." not in name}
    save_file(kept, folder / "model.safetensors")


def untie(folder: Path) -> None:
    state = load_file(folder / "model.safetensors")
    save_file(state | {"cls.predictions.decoder.weight": torch.zeros(53, 24)}, folder / "model.safetensors")


def fewer_embeddings(folder: Path) -> None:
    state = load_file(folder / "model.safetensors")
    state["bert.embeddings.word_embeddings.weight"] = state["bert.embeddings.word_embeddings.weight"][:20].clone()
    state["cls.predictions.bias"] = state["cls.predictions.bias"][:20].clone()
    save_file(state, folder / "model.safetensors")
    rewrite_config(folder, vocab_size=20)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (remove("config.json"), "lacks config.json"),
        (remove("model.safetensors"), "lacks model.safetensors"),
        (only_a_pickle, "pytorch_model.bin cannot be opened as weights"),
        (write("config.json", b"{"), "not valid JSON"),
        (write("config.json", b"\xff\xfe\x00"), "not valid JSON"),
        (write("config.json", b"[]"), "does not hold a configuration"),
        (write("model.safetensors", b"\xff" * 100), "model.safetensors is damaged"),
        (write("model.safetensors", b""), "model.safetensors is damaged"),
        (spoil_config(hidden_size=48), "asks for"),
        (spoil_config(vocab_size=60), "asks for"),
        (spoil_config(num_hidden_layers=5), "lack encoder.layer.3"),
        (drop_a_layer, "lack encoder.layer.2"),
        (untie, "not tied"),
        (fewer_embeddings, "tokens but the model has 20 embeddings"),
        (lambda folder: [remove(name)(folder) for name in ("tokenizer.json", "vocab.txt")], "tokenizer.json"),
    ],
)
def test_a_folder_with_something_wrong_gets_one_clear_sentence(spoil, message, folder):
    load_checkpoint(folder)
    spoil(folder)
    with pytest.raises(InputError, match=message) as caught:
        load_checkpoint(folder)
    assert "\n" not in str(caught.value)
    assert str(caught.value).endswith(".")


@pytest.mark.parametrize(
    "name", ["", "  ", "no/such/folder/here", "../nowhere", "x" * 5_000, "a\0b", "~nobody-of-this-name/x", "<b>&"]
)
def test_a_model_that_is_not_there_gets_one_clear_sentence(name):
    with pytest.raises(InputError) as caught:
        load_checkpoint(name)
    assert len(str(caught.value)) < 400


def test_a_hub_id_that_cannot_be_fetched_gets_one_clear_sentence():
    with pytest.raises(InputError, match="could not be fetched from the hub"):
        load_checkpoint("nobody/no-such-model")


def claiming(folder: Path, **claims: object) -> Path:
    """The little model with other numbers in its config.json."""
    little_folder(folder)
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | claims))
    return folder


def with_tensors(folder: Path, **tensors: torch.Tensor) -> Path:
    """The little model with more tensors in its file."""
    little_folder(folder)
    path = folder / "model.safetensors"
    save_file(load_file(path) | {name.replace("__", "."): t for name, t in tensors.items()}, path)
    return folder


def resident() -> int:
    return psutil.Process().memory_info().rss


@pytest.mark.parametrize(
    ("claims", "reason"),
    [
        ({"hidden_size": 4096, "intermediate_size": 16384, "num_hidden_layers": 24}, "has shape"),
        ({"num_hidden_layers": 500}, "The weights in model lack encoder.layer.2.*and 7965 more"),
        ({"max_position_embeddings": 60_000}, r"position_embeddings.weight has shape \(64, 32\)"),
        ({"vocab_size": 3_000_000}, "word_embeddings.weight has shape"),
        ({"num_hidden_layers": 10**9}, "num_hidden_layers must be at most 512"),
        ({"hidden_size": 10**7}, "hidden_size must be at most 32,768"),
        ({"max_position_embeddings": 10**12}, "max_position_embeddings must be at most 1,000,000"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_config_that_claims_more_than_its_weights_is_refused_by_the_headers(claims, reason, tmp_path):
    folder = claiming(tmp_path / "model", **claims)
    before = resident()
    with pytest.raises(InputError, match=reason):
        load_checkpoint(folder)
    assert resident() - before < 200_000_000


def test_a_model_of_more_bytes_than_are_allowed_is_refused_before_it_is_read(tmp_path):
    folder = little_folder(tmp_path / "model")
    with pytest.raises(
        InputError, match=r"^model has .* kB of weights in 32 bits; this page opens models of up to 1 kB"
    ):
        load_checkpoint(folder, most_bytes=1000)
    assert load_checkpoint(folder, most_bytes=10**6).config.hidden_size == 32


def test_a_head_whose_weights_are_missing_counts_too(tmp_path):
    folder = claiming(tmp_path / "model", architectures=["BertForSequenceClassification"])
    path = folder / "config.json"
    labels = {str(number): f"label {number}" for number in range(100_000)}
    path.write_text(json.dumps(json.loads(path.read_text()) | {"id2label": labels, "num_labels": len(labels)}))
    state = {name: t for name, t in load_file(folder / "model.safetensors").items() if not name.startswith("cls")}
    save_file(state, folder / "model.safetensors")
    with pytest.raises(InputError, match="MB of weights in 32 bits"):
        load_checkpoint(folder, most_bytes=2_000_000)


def test_tensors_that_the_model_has_no_place_for_are_not_read(tmp_path):
    surplus = {"adapter__weight": torch.zeros(300_000_000, dtype=torch.int8)}
    folder = with_tensors(tmp_path / "model", **surplus, bert__embeddings__position_ids=torch.zeros(1, 64))
    before = resident()
    checkpoint = load_checkpoint(folder)
    assert checkpoint.report.unexpected == ("adapter.weight",)
    assert resident() - before < 200_000_000
