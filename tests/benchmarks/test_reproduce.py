"""A model is packed as it ships: small files, a thinned log, a card with the scores of the weights that ship."""

import json
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch

from benchmarks import reproduce
from benchmarks.reproduce import averaged, pack, score, train
from bertviz_lab import load_checkpoint
from bertviz_lab.training.checkpoints.checkpoint import save_checkpoint
from bertviz_lab.training.runs.run_folder import read_config
from bertviz_lab.training.runs.snapshot_reader import open_snapshots
from tests.little import little_checkpoint

RECIPE: dict[str, Any] = {
    "command": [
        *("pretrain", "--corpus", "sample:tiny-town", "--preset", "tiny", "--steps", "30", "--seq-len", "32"),
        *("--short-seq-len", "0", "--vocab-size", "600", "--batch-size", "4", "--eval-every", "1000"),
    ],
    "half": True,
    "snapshots": [0, 5, 20],
    "pipeline": "fill-mask",
    "licence": "apache-2.0",
    "about": ["A model for this test."],
    "data": ["Text: Tiny Town"],
    "scores": [{"title": "held out", "task": "pretraining", "data": ["sample:tiny-town:held-out"]}],
    "limits": ["It knows next to nothing."],
}


@pytest.fixture(autouse=True)
def one_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    """Models that know nothing need no three scores."""
    monkeypatch.setattr(reproduce, "_DRAWS", (0,))


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("reproduce")
    train(RECIPE, folder / "run", ["--threads", "1"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reproduce, "MOST_BYTES", 1_000_000)
        patch.setattr(reproduce, "_DRAWS", (0, 1))
        scores = pack("little", RECIPE, folder / "run", folder / "little")
    return folder / "little", scores


def test_no_file_is_larger_than_it_may_be_and_the_model_opens(packed: tuple[Path, dict[str, Any]]) -> None:
    folder, _ = packed
    assert len(list(folder.glob("model-*.safetensors"))) > 1
    assert all(path.stat().st_size < 1_100_000 for path in folder.rglob("*") if path.is_file())
    assert load_checkpoint(folder).config.hidden_size == 128


def test_some_snapshots_ship_with_it_and_each_is_whole(packed: tuple[Path, dict[str, Any]]) -> None:
    folder, _ = packed
    past, whole = open_snapshots(folder), open_snapshots(folder.parent / "run")
    assert past.steps() == (0, 5, 20, 30), "the last one is the model itself"
    for step in past.steps():
        shipped, original = (one.open(step).model.state_dict() for one in (past, whole))
        assert all(torch.equal(tensor, original[name]) for name, tensor in shipped.items())


def test_the_card_has_the_scores_of_the_weights_that_ship(packed: tuple[Path, dict[str, Any]]) -> None:
    folder, scores = packed
    for title, draws in score(load_checkpoint(folder), RECIPE).items():
        assert draws == scores[title][:1]
    (draws,) = scores.values()
    card = (folder / "README.md").read_text(encoding="utf-8")
    for draw in draws:
        assert f"{draw['mlm_accuracy']:.1%}" in card
        assert f"{draw['nsp_accuracy']:.1%}" in card
    assert "30 steps" in card
    assert re.search(r"commit [0-9a-f]{7}", card)


def test_the_log_names_no_folder_of_the_machine_it_was_made_on(packed: tuple[Path, dict[str, Any]]) -> None:
    folder, _ = packed
    text = (folder / "training.jsonl").read_text(encoding="utf-8")
    rows = [json.loads(line) for line in text.splitlines()]
    assert [row["event"] for row in rows].count("RunStarted") == 1
    assert rows[-1]["event"] == "RunFinished"
    assert str(folder.parent) not in text
    assert "curves.svg" in (folder / "README.md").read_text(encoding="utf-8")
    assert "<svg" in (folder / "curves.svg").read_text(encoding="utf-8")


@pytest.mark.thorough
def test_a_recipe_trains_in_stages_and_a_later_one_starts_from_the_model_of_an_earlier(tmp_path: Path) -> None:
    pairs = tmp_path / "pairs.jsonl"
    told = ("The cat sat on the mat.", "A dog ran.", "Rain fell.", "He reads a book.", "She sang.", "It was late.")
    pairs.write_text("".join(json.dumps({"anchor": text, "positive": text}) + "\n" for text in told), encoding="utf-8")
    tuning = ("finetune", "--task", "embeddings", "--epochs", "2", "--evals-per-epoch", "1", "--batch-size", "2")
    recipe = RECIPE | {
        "earlier": [[*tuning, "--train", "{pairs}", "--eval-share", "0.3", "--model", "wiki-tiny"]],
        "command": [*tuning, "--train", "sample:same-event", "--max-train-examples", "16", "--model", "{stage-1}"],
        "pipeline": "sentence-similarity",
        "scores": [{"title": "all of them", "task": "embeddings", "data": ["sample:same-event"]}],
    }
    train(recipe, tmp_path / "run", ["--threads", "1"])
    pack("vectors", recipe, tmp_path / "run", tmp_path / "vectors")
    assert read_config(tmp_path / "run").model == str(tmp_path / "stage-1" / "model")  # type: ignore[union-attr]
    assert load_checkpoint(tmp_path / "vectors").pooling == "mean"
    card = (tmp_path / "vectors" / "README.md").read_text(encoding="utf-8")
    assert "- Stage 1: 4 steps" in card
    assert "--train pairs.jsonl --eval-share 0.3 --model wiki-tiny`" in card
    assert "--model stage-1`" in card
    assert str(tmp_path) not in card
    assert "library_name: sentence-transformers" in card
    assert "MRR, held out" in (tmp_path / "vectors" / "curves.svg").read_text(encoding="utf-8")


@pytest.mark.thorough
def test_a_pretraining_in_stages_ships_one_log_and_snapshots_of_each(tmp_path: Path) -> None:
    first = [*RECIPE["command"][:6], "10", *RECIPE["command"][7:]]
    second = ["pretrain", "--corpus", "sample:tiny-town", "--init-from", "{stage-1}", "--batch-size", "4"]
    second += ["--steps", "5", "--seq-len", "64", "--short-seq-len", "0", "--causal-share", "0"]
    recipe = RECIPE | {"earlier": [first], "command": second, "snapshots": [0, 5, 10, 12]}
    train(recipe, tmp_path / "run", ["--threads", "1"])
    pack("little", recipe, tmp_path / "run", tmp_path / "little")
    past = open_snapshots(tmp_path / "little")
    assert past.steps() == (0, 5, 10, 12, 15)
    assert [past.open(step).trained_length for step in (5, 12, 15)] == [32, 64, 64]
    stage = open_snapshots(tmp_path / "stage-1").open(10).model.state_dict()
    assert all(torch.equal(stage[name], tensor) for name, tensor in past.open(10).model.state_dict().items())
    lines = (tmp_path / "little" / "training.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [row for row in map(json.loads, lines) if row["event"] == "StepDone"]
    assert {1, 10, 11, 15} <= {row["step"] for row in rows}
    for key in ("step", "tokens", "seconds"):
        assert all(later[key] > row[key] for row, later in pairwise(rows))
    card = (tmp_path / "little" / "README.md").read_text(encoding="utf-8")
    assert "- Stage 1: 10 steps" in card
    assert "--init-from stage-1 " in card


def test_the_mean_of_several_models_has_of_each_its_share_and_its_trained_positions(tmp_path: Path) -> None:
    models = [replace(little_checkpoint(seed), trained_length=length) for seed, length in ((1, 24), (2, 48), (3, 64))]
    folders = [save_checkpoint(model, tmp_path / str(place)) for place, model in enumerate(models)]
    shares = (0.2, 0.3, 0.5)
    soup = averaged(folders, shares)
    assert soup.trained_length == 64
    states = [model.model.state_dict() for model in models]
    for name, tensor in soup.model.state_dict().items():
        rows = torch.tensor([shares] * len(tensor))
        if name.endswith("embeddings.position.weight"):
            rows[24:, 0], rows[48:, 1] = 0, 0
            assert torch.equal(tensor[48:], states[2][name][48:])
        wanted = sum(
            (rows[:, place] / rows.sum(1)).view(-1, *[1] * (tensor.dim() - 1)) * state[name]
            for place, state in enumerate(states)
        )
        assert torch.allclose(tensor, wanted, atol=1e-6), name  # type: ignore[arg-type]
    last = averaged(folders, None).model.state_dict()
    assert all(torch.equal(tensor, states[2][name]) for name, tensor in last.items())
