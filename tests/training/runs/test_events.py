"""Events as lines of a log."""

import dataclasses
import json
import math

import pytest

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
    to_json,
)

STEP = StepDone(
    step=7,
    seconds=1.5,
    tokens=4_096,
    loss=6.25,
    learning_rate=1e-3,
    grad_norm=0.5,
    tokens_per_second=2_700.5,
    eta_seconds=12.0,
    metrics={"mlm_loss": 5.5, "nsp_loss": 0.75, "mlm_accuracy": 0.125},
)
EVENTS = [
    Preparing("read", 3, 0, "Reading “the text”\u2028, line by line\nand so on"),
    RunStarted(
        run="blue-fox",
        step=0,
        total_steps=None,
        time_budget=120.0,
        parameters=4_433_468,
        vocab_size=8_192,
        objective="mlm+nsp",
        precision="bf16",
        device="cpu",
        threads=2,
        baselines={"mlm_loss": 9.01, "nsp_loss": math.log(2)},
        notes=("One thing.", "Another <b>thing</b>."),
    ),
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

    assert {type(event) for event in EVENTS} == set(Event.__args__)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_nan_and_infinite_metrics_are_written_as_null(value):
    line = to_json(EvalDone(1, 2.0, 3, {"mlm_loss": value, "mlm_accuracy": 0.5}))
    assert json.loads(line, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))["mlm_loss"] is None
    assert json.loads(to_json(StepDone(1, 2.0, 3, value, 0.1, value, 1.0, 0.0)))["loss"] is None
