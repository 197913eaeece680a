"""Pretraining on a data set that is read while it is trained on."""

import json
from pathlib import Path

import pytest

from bertviz_lab.config import PretrainConfig
from bertviz_lab.data.pretraining import streaming
from bertviz_lab.errors import InputError
from bertviz_lab.training.runs.events import EvalDone, RunFinished, StepDone
from tests.training.support import after, finish, identical, short_run, started, weights, write_text


@pytest.fixture
def rows(tmp_path: Path) -> str:
    """Forty documents as rows, in two files."""
    folder = tmp_path / "rows"
    folder.mkdir()
    documents = write_text(tmp_path / "text.txt").read_text().strip().split("\n\n")
    for name, part in (("a", documents[:25]), ("b", documents[25:])):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in part))
    return f"dataset:{folder}"


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some seven documents each, so that a dozen steps read several, and begin again."""
    monkeypatch.setattr(streaming.ChunkReader.__init__, "__defaults__", (0, None, 1_200))


def config(rows: str, **changes) -> PretrainConfig:
    options = {"streaming": True, "held_out_documents": 5, "documents": "auto"}
    return short_run(Path(), **(options | {"corpus": (rows,)} | changes))


def test_a_run_trains_without_a_copy_of_its_text(rows, tmp_path):
    events = finish(config(rows), tmp_path / "run")
    assert isinstance(events[-1], RunFinished)
    assert events[-1].step == 12
    assert any("first 5 documents are held out" in note for note in started(events).notes)
    assert started(events).objective == "mlm+nsp"
    scores = [event.metrics for event in events if isinstance(event, EvalDone)][-1]
    assert scores.keys() >= {"mlm_loss", "nsp_accuracy"}
    copied = sum(path.stat().st_size for path in (tmp_path / "run" / "corpus").iterdir() if path.suffix == ".bin")
    assert copied < 2_000, "the held-out documents only"
    assert "streamed; held out: 5 documents" in (tmp_path / "run" / "model" / "README.md").read_text()


@pytest.mark.parametrize("stop", [1, 9])
def test_a_resumed_run_is_bit_for_bit_that_of_an_uninterrupted_one(rows, tmp_path, stop):
    settings = config(rows)  # it changes its sequence length on its way
    whole = finish(settings, tmp_path / "whole")
    finish(settings, tmp_path / "parts", after(stop))
    rest = finish(settings, tmp_path / "parts", resume=True)
    assert started(rest).step in (stop, stop + 1)
    assert identical(weights(tmp_path / "whole" / "model"), weights(tmp_path / "parts" / "model"))
    losses = {event.step: event.loss for event in whole if isinstance(event, StepDone)}
    assert all(losses[event.step] == event.loss for event in rest if isinstance(event, StepDone) and event.step < 4)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"corpus": ("book.txt",)}, r"Parquet or JSONL file"),
        ({"corpus": ("dataset:a", "dataset:b")}, r"reads one data set"),
        ({"documents": "file"}, r"each row is a document"),
        ({"masking": "static"}, r"choose dynamic"),
    ],
)
def test_settings_that_streaming_has_not_are_refused(changes, sentence):
    with pytest.raises(InputError, match=sentence):
        config("dataset:a", **changes)
