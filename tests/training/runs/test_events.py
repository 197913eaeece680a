"""Events and files of a run are strict JSON, and by which score a run is judged."""

import dataclasses
import json
import math
from pathlib import Path

import numpy as np
import pytest

from bertviz_lab import InputError, strict_json
from bertviz_lab.strict_json import nan_for_null
from bertviz_lab.training.checkpoints.atomic_io import write_json
from bertviz_lab.training.runs import events
from bertviz_lab.training.runs.events import (
    CheckpointSaved,
    EvalDone,
    Preparing,
    ProbesDone,
    RunFinished,
    RunStarted,
    SnapshotSaved,
    StepDone,
    TrialDone,
    TrialStarted,
    format_event,
    to_json,
)
from bertviz_lab.training.runs.run_folder import RunState, read_state, write_state
from bertviz_lab.training.runs.summary import RunNotes, RunSummary, read_notes, write_notes

STEP = StepDone(7, 1.5, 4_096, 6.25, 1e-3, 0.5, 2_700.5, 12.0, {"mlm_loss": 5.5, "mlm_accuracy": 0.125})
NOTES = ("One thing.", "Another <b>thing</b>.")
EVENTS = [
    Preparing("read", 3, 0, "Reading “the text”\u2028, line by line\nand so on"),
    RunStarted("blue-fox", 0, None, 120.0, 4_433_468, 8_192, "mlm+nsp", "bf16", "cpu", 2, {"mlm_loss": 9.01}, NOTES),
    STEP,
    EvalDone(step=7, seconds=1.5, tokens=4_096, metrics={"mlm_loss": 5.0, "mlm_accuracy": 0.25}),
    SnapshotSaved(5, "runs/blue-fox/snapshots/step-00000005.safetensors"),
    ProbesDone(5, 1.25, 2_048, "english", {"agreement": 0.75, "word_order": 1.0}),
    CheckpointSaved(7, "runs/blue-fox/checkpoints/last"),
    TrialStarted(trial=1, trials=3, name="seed 1", step=7, total_steps=40),
    TrialDone(trial=1, name="seed 1", step=47, best_step=30, metrics={"accuracy": 0.5}),
    events.FinalTestDone(47, {"accuracy": 0.25}),
    RunFinished(7, 1.5, "finished", "runs/blue-fox/model", ""),
]


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_an_event_is_one_line_with_all_that_it_holds(event):
    line = to_json(event)
    assert "\n" not in line
    fields = dataclasses.asdict(event)
    metrics = fields.pop("metrics", {})
    assert json.loads(line) == json.loads(json.dumps({"event": type(event).__name__, **fields, **metrics}))


def test_every_kind_of_event_is_tested():
    from bertviz_lab.training.runs.events import Event

    assert {type(event) for event in EVENTS} == set(Event.__subclasses__())


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_nan_and_infinite_metrics_are_written_as_null(value):
    line = to_json(EvalDone(1, 2.0, 3, {"mlm_loss": value, "mlm_accuracy": 0.5}))
    assert json.loads(line, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))["mlm_loss"] is None
    assert json.loads(to_json(StepDone(1, 2.0, 3, value, 0.1, value, 1.0, 0.0)))["loss"] is None


BEGUN = {"event": "RunStarted", "step": 0, "objective": "mlm+nsp", "parameters": 1000}


def test_pretraining_is_judged_by_its_newest_mlm_accuracy_if_it_has_one() -> None:
    evals = [{"event": "EvalDone", "step": step, "mlm_accuracy": 0.1 * step} for step in (0, 1, 2)]
    summary = RunSummary().after([BEGUN, *evals])
    assert (summary.objective, summary.parameters) == ("mlm+nsp", 1000)
    assert (summary.measure, summary.score) == ("mlm_accuracy", 0.2)
    assert summary == RunSummary().after([BEGUN]).after(evals)
    assert RunSummary().after([]).score is None
    assert RunSummary().after([BEGUN, {"event": "EvalDone", "step": 3, "mlm_accuracy": None}]).score is None


@pytest.mark.parametrize(("metric", "measure"), [("macro_f1", "macro_f1"), ("loss", "accuracy"), ("", "accuracy")])
def test_a_fine_tuning_is_judged_by_the_score_that_selects_its_model(metric: str, measure: str) -> None:
    begun = {"event": "RunStarted", "step": 0, "objective": "classification", "metric": metric}
    done = {"event": "TrialDone", "step": 9, "name": "", "accuracy": 0.9, "macro_f1": 0.4, "loss": 0.3}
    assert RunSummary().after([begun, done]).measure == measure


def test_a_fine_tuning_is_judged_by_its_best_trial_and_by_accuracy_where_no_entities_are_marked() -> None:
    started = BEGUN | {"objective": "tokens"}
    rows = [
        {"event": "EvalDone", "step": 5, "f1": 0.9},
        {"event": "TrialDone", "name": "seed 0", "step": 5, "f1": 0.7},
        {"event": "TrialDone", "name": "seed 1", "step": 9, "f1": 0.6},
        {"event": "EvalDone", "step": 12, "f1": 0.1},
        {"event": "TrialDone", "name": "random weights", "step": 14, "f1": 0.8},
    ]
    summary = RunSummary().after([started, *rows])
    assert (summary.measure, summary.score) == ("f1", 0.7)
    started = BEGUN | {"objective": "tokens"}
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


NAN = float("nan")


def loads(text: str):
    return json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))


def test_numbers_that_are_not_finite_are_null_at_any_depth():
    body = {"a": [1.0, NAN, (math.inf, {"b": -math.inf})], "c": np.float64("nan"), "d": "NaN"}
    assert loads(strict_json.dumps(body)) == {"a": [1.0, None, [None, {"b": None}]], "c": None, "d": "NaN"}


def test_scores_come_back_as_they_were():
    scores = {"f1": NAN, "trials": [{"scores": {"f1": 0.5, "loss": NAN}}]}
    assert str(nan_for_null(loads(strict_json.dumps(scores)))) == str(scores)


def test_every_json_file_of_a_run_is_valid(tmp_path):
    write_json(tmp_path / "report.json", {"scores": {"spearman": NAN}, "trials": [{"scores": {"loss": math.inf}}]})
    assert loads((tmp_path / "report.json").read_text())["trials"] == [{"scores": {"loss": None}}]
    write_state(tmp_path, RunState(eta_seconds=math.inf))
    assert loads((tmp_path / "state.json").read_text())["eta_seconds"] is None
    assert read_state(tmp_path).eta_seconds is None
