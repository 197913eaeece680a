"""A run in one line."""

from pathlib import Path

import pytest

from bertviz_lab import InputError
from bertviz_lab.training.runs.events import ProbesDone, format_event
from bertviz_lab.training.runs.summary import RunNotes, RunSummary, read_notes, write_notes

STARTED = {"event": "RunStarted", "step": 0, "objective": "mlm+nsp", "parameters": 1000}


def test_pretraining_is_judged_by_its_newest_mlm_accuracy() -> None:
    evals = [{"event": "EvalDone", "step": step, "mlm_accuracy": 0.1 * step} for step in (0, 1, 2)]
    summary = RunSummary().after([STARTED, *evals])
    assert (summary.objective, summary.parameters) == ("mlm+nsp", 1000)
    assert (summary.measure, summary.score) == ("mlm_accuracy", 0.2)
    assert summary == RunSummary().after([STARTED]).after(evals)


def test_a_log_without_a_score_has_none() -> None:
    assert RunSummary().after([]).score is None
    assert RunSummary().after([STARTED, {"event": "EvalDone", "step": 3, "mlm_accuracy": None}]).score is None


def test_a_fine_tuning_is_judged_by_its_best_trial_not_by_its_random_baseline() -> None:
    started = STARTED | {"objective": "tokens"}
    rows = [
        {"event": "EvalDone", "step": 5, "f1": 0.9},
        {"event": "TrialDone", "name": "seed 0", "step": 5, "f1": 0.7},
        {"event": "TrialDone", "name": "seed 1", "step": 9, "f1": 0.6},
        {"event": "EvalDone", "step": 12, "f1": 0.1},
        {"event": "TrialDone", "name": "random weights", "step": 14, "f1": 0.8},
    ]
    summary = RunSummary().after([started, *rows])
    assert (summary.measure, summary.score) == ("f1", 0.7)


def test_labels_that_mark_no_entities_are_judged_by_accuracy() -> None:
    started = STARTED | {"objective": "tokens"}
    summary = RunSummary().after([started, {"event": "EvalDone", "step": 5, "accuracy": 0.5}])
    assert summary.measure == "accuracy"


def test_notes_are_read_as_they_were_written(tmp_path: Path) -> None:
    assert read_notes(tmp_path) == RunNotes()
    notes = RunNotes("Baseline für Ümlaute", ("a tag", "b"), "Two lines\nof <b>note</b>.")
    write_notes(tmp_path, notes)
    assert read_notes(tmp_path) == notes
    assert [path.name for path in tmp_path.iterdir()] == ["notes.json"]  # nothing is left of its replacement


@pytest.mark.parametrize("content", ["", "[]", '{"name": "x"}', '{"name": "x", "tags": 3, "note": ""}'])
def test_a_file_that_is_broken_reads_as_no_notes(tmp_path: Path, content: str) -> None:
    (tmp_path / "notes.json").write_text(content, encoding="utf-8")
    assert read_notes(tmp_path) == RunNotes()


@pytest.mark.parametrize(
    ("notes", "told"),
    [
        ({"name": "x" * 61}, "at most 60"),
        ({"name": "two\nlines"}, "one line"),
        ({"tags": ("x" * 31,)}, "at most 30"),
        ({"tags": tuple("abcdefghijk")}, "at most 10 tags"),
        ({"note": "x" * 2001}, "at most 2,000"),
    ],
)
def test_what_is_too_long_is_refused(notes: dict, told: str) -> None:
    with pytest.raises(InputError, match=told):
        RunNotes(**notes)


def test_probe_results_are_one_short_line():
    line = format_event(
        ProbesDone(5, 1.0, 10, "english", {"agreement": 0.8, "tense": 0.5, "article": 0.75, "word_order": 1.0})
    )
    assert line == "minimal-pair probes: accuracy 76.2%, 2 of 4 phenomena at 80% or more"
