"""The events of a run as typed values: training yields them, everything else consumes them.

The command line, a notebook and the log file consume the same stream; the page reads the log, one JSON object a line.
"""

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bertviz_lab import strict_json


@dataclass(frozen=True)
class Preparing:
    """Work before the first step, such as reading, learning the vocabulary, tokenizing."""

    stage: str
    done: int
    total: int  # 0 where it is not known
    message: str


@dataclass(frozen=True)
class RunStarted:
    """Everything is ready; training starts, or resumes from `step`."""

    run: str
    step: int
    total_steps: int | None  # None for a time budget
    time_budget: float | None  # seconds, None for a number of steps
    parameters: int
    vocab_size: int
    objective: str
    precision: str
    device: str
    threads: int
    baselines: Mapping[str, float]  # scores without a model: mlm_loss ln V, unigram_entropy, nsp_majority ...
    notes: tuple[str, ...] = ()  # what the user should know, in sentences


@dataclass(frozen=True)
class StepDone:
    """Training metrics: means over the steps since the last such event."""

    step: int
    seconds: float  # of training, over all sessions
    tokens: int  # seen so far, without padding
    loss: float
    learning_rate: float
    grad_norm: float
    tokens_per_second: float
    eta_seconds: float
    metrics: Mapping[str, float] = field(default_factory=dict)  # the task's: mlm_loss, mlm_accuracy ...


@dataclass(frozen=True)
class EvalDone:
    """Scores on the held-out set."""

    step: int
    seconds: float
    tokens: int
    metrics: Mapping[str, float]


@dataclass(frozen=True)
class ProbesDone:
    """Minimal-pair probes: pairs of sentences of which the model should find the acceptable one more likely."""

    step: int
    seconds: float
    tokens: int
    probes: str  # the set of probes, a key of `data.probes.PROBES`
    right: Mapping[str, float]  # phenomenon -> accuracy; 0.5 is chance


@dataclass(frozen=True)
class CheckpointSaved:
    """The run can be resumed from here, and the model can be opened."""

    step: int
    path: str


@dataclass(frozen=True)
class SnapshotSaved:
    """The weights of this step were saved for later inspection."""

    step: int
    path: str


@dataclass(frozen=True)
class TrialStarted:
    """A fine-tuning starts its next trial, for example another seed; steps are counted over all trials."""

    trial: int  # from 0
    trials: int
    name: str
    step: int  # the last one before it
    total_steps: int  # of this trial


@dataclass(frozen=True)
class TrialDone:
    """The result of a trial: the scores of its best model on the held-out examples."""

    trial: int
    name: str
    step: int
    best_step: int
    metrics: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class FinalTestDone:
    """The scores of a fine-tuning's chosen model on the test set, which no choice was made by."""

    step: int
    metrics: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class RunFinished:
    """The last event of a session. `reason`: finished, stopped (can be resumed) or failed."""

    step: int
    seconds: float
    reason: str
    path: str  # of the model, empty where there is none
    message: str


Event = (
    Preparing
    | RunStarted
    | TrialStarted
    | StepDone
    | EvalDone
    | SnapshotSaved
    | ProbesDone
    | CheckpointSaved
    | TrialDone
    | FinalTestDone
    | RunFinished
)


def to_json(event: Event) -> str:
    """Return one line of a log: the event's name under "event", its fields beside it, a task's metrics among them."""
    body = dataclasses.asdict(event)
    metrics = body.pop("metrics", {})
    row = {"event": type(event).__name__, **body, **metrics}
    return strict_json.dumps(row, ensure_ascii=False)


def format_event(event: Event) -> str:
    """Return one line of text for an event; "" for events that are not shown."""
    line = ""
    if isinstance(event, Preparing):
        share = f" {event.done / event.total:.0%}" if event.total else ""
        line = f"{event.message}{share}"
    elif isinstance(event, RunStarted):
        baselines = ", ".join(f"{name} {value:.2f}" for name, value in event.baselines.items())
        line = f"{event.parameters:,} parameters, {event.precision} on {event.device}; baselines {baselines}"
        line = "\n".join([line, *event.notes])
    elif isinstance(event, StepDone):
        scores = " ".join(f"{name} {value:.3f}" for name, value in event.metrics.items())
        scores = scores if "mlm_loss" in event.metrics else f"loss {event.loss:.3f} {scores}"
        line = f"step {event.step:6} {scores} {event.tokens_per_second:,.0f} tokens/s, {event.eta_seconds:.0f} s left"
    elif isinstance(event, EvalDone):
        line = "validation " + " ".join(f"{name} {value:.3f}" for name, value in event.metrics.items())
    elif isinstance(event, ProbesDone):
        shares = event.right.values()
        passed = sum(share >= 0.8 for share in shares)
        mean = sum(shares) / max(1, len(shares))
        line = f"minimal-pair probes: accuracy {mean:.1%}, {passed} of {len(shares)} phenomena at 80% or more"
    elif isinstance(event, TrialStarted):
        line = f"trial {event.trial + 1} of {event.trials}: {event.name}" if event.trials > 1 else ""
    elif isinstance(event, TrialDone):
        line = "best validation " + " ".join(f"{name} {value:.3f}" for name, value in event.metrics.items())
    elif isinstance(event, FinalTestDone):
        line = "test " + " ".join(f"{name} {value:.3f}" for name, value in event.metrics.items())
    elif isinstance(event, RunFinished):
        line = f"{event.reason} after {event.step:,} {'step' if event.step == 1 else 'steps'}"
        line = f"{line}. {event.message}" if event.message else line
    return line


def final_scores(folder: Path, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the results of a run: the scores of a fine-tuning's best model, or the last ones of a pretraining."""
    if (folder / "examples").is_dir():
        report = folder / "report.json"
        body: dict[str, Any] = json.loads(report.read_text(encoding="utf-8")) if report.is_file() else {}
        return {
            "task": body.get("task"),
            **body.get("scores", {}),
            "split": body.get("split", "validation"),
            "test": body.get("test"),
            "guess": body.get("guess"),
            "families": body.get("families"),
        }
    scores: dict[str, Any] = next((row for row in reversed(rows) if row["event"] == "EvalDone"), {})
    return {name: value for name, value in scores.items() if "_" in name}
