"""Models of strangers are measured by their headers, before memory is taken for anything that they claim."""

import json
from pathlib import Path

import psutil
import pytest
import torch
from safetensors.torch import load_file, save_file

from bertviz_lab import InputError, load_checkpoint
from tests.little import little_folder


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
