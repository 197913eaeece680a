"""The events of a run as typed values: training yields them, everything else consumes them.

The command line, a notebook and the log file consume the same stream; the page reads the log, one JSON object a line.
"""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bertviz_lab import strict_json
from bertviz_lab.training.checkpoints.atomic_io import read_object


@dataclass(frozen=True)
class Event:
    """Something that happened in a run."""


@dataclass(frozen=True)
class Preparing(Event):
    """Work before the first step, such as reading, learning the vocabulary, tokenizing."""

    stage: str
    done: int
    total: int  # 0 where it is not known
    message: str


@dataclass(frozen=True)
class RunStarted(Event):
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
    metric: str = ""  # the score by which a fine-tuning selects its model
    text_tokens: int = 0  # in the text of a pretraining; 0 where it is streamed


@dataclass(frozen=True)
class StepDone(Event):
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
class EvalDone(Event):
    """Scores on the held-out set."""

    step: int
    seconds: float
    tokens: int
    metrics: Mapping[str, float]


@dataclass(frozen=True)
class ProbesDone(Event):
    """Minimal-pair probes: pairs of sentences of which the model should find the acceptable one more likely."""

    step: int
    seconds: float
    tokens: int
    probes: str  # the set of probes, a key of `data.probes.PROBES`
    right: Mapping[str, float]  # phenomenon -> accuracy; 0.5 is chance


@dataclass(frozen=True)
class CheckpointSaved(Event):
    """The run can be resumed from here, and the model can be opened."""

    step: int
    path: str


@dataclass(frozen=True)
class SnapshotSaved(Event):
    """The weights of this step were saved for later inspection."""

    step: int
    path: str


@dataclass(frozen=True)
class TrialStarted(Event):
    """A fine-tuning starts its next trial, for example another seed; steps are counted over all trials."""

    trial: int  # from 0
    trials: int
    name: str
    step: int  # the last one before it
    total_steps: int  # of this trial


@dataclass(frozen=True)
class TrialDone(Event):
    """The result of a trial: the scores of its best model on the held-out examples."""

    trial: int
    name: str
    step: int
    best_step: int
    metrics: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class FinalTestDone(Event):
    """The scores of a fine-tuning's chosen model on the test set, which no choice was made by."""

    step: int
    metrics: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class RunFinished(Event):
    """The last event of a session. `reason`: finished, stopped (can be resumed) or failed."""

    step: int
    seconds: float
    reason: str
    path: str  # of the model, empty where there is none
    message: str


def to_row(event: Event) -> dict[str, Any]:
    """Return an event as a log has it: its name under "event", next to it its fields and a task's metrics."""
    body = dataclasses.asdict(event)
    metrics = body.pop("metrics", {})
    return {"event": type(event).__name__, **body, **metrics}


def to_json(event: Event) -> str:
    """Return one line of a log."""
    return strict_json.dumps(to_row(event), ensure_ascii=False)


def format_event(event: Event) -> str:
    """Return one line of text for an event; "" for events that are not shown."""
    match event:
        case Preparing():
            return event.message + (f" {event.done / event.total:.0%}" if event.total else "")
        case RunStarted():
            baselines = ", ".join(f"{name} {value:.2f}" for name, value in event.baselines.items())
            line = f"{event.parameters:,} parameters, {event.precision} on {event.device}; baselines {baselines}"
            return "\n".join([line, *event.notes])
        case StepDone():
            scores = "" if "mlm_loss" in event.metrics else f"loss {event.loss:.3f} "
            speed = f"{event.tokens_per_second:,.0f} tokens/s, {event.eta_seconds:.0f} s left"
            return f"step {event.step:6} {scores}{_scores(event.metrics)} {speed}"
        case EvalDone():
            return f"validation {_scores(event.metrics)}"
        case ProbesDone():
            shares = event.right.values()
            passed = sum(share >= 0.8 for share in shares)
            mean = sum(shares) / max(1, len(shares))
            return f"minimal-pair probes: accuracy {mean:.1%}, {passed} of {len(shares)} phenomena at 80% or more"
        case TrialStarted() if event.trials > 1:
            return f"trial {event.trial + 1} of {event.trials}: {event.name}"
        case TrialDone():
            return f"best validation {_scores(event.metrics)}"
        case FinalTestDone():
            return f"test {_scores(event.metrics)}"
        case RunFinished():
            line = f"{event.reason} after {event.step:,} {'step' if event.step == 1 else 'steps'}"
            return f"{line}. {event.message}" if event.message else line
    return ""


def _scores(metrics: Mapping[str, float]) -> str:
    return " ".join(f"{name} {value:.3f}" for name, value in metrics.items())


def final_scores(folder: Path, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the results of a run: the scores of a fine-tuning's best model, or the last ones of a pretraining."""
    if (folder / "examples").is_dir():
        body = read_object(folder / "report.json")
        scores = {"task": body.get("task"), **body.get("scores", {}), "split": body.get("split", "validation")}
        return scores | {name: body.get(name) for name in ("test", "guess", "families")}
    last: dict[str, Any] = next((row for row in reversed(rows) if row["event"] == "EvalDone"), {})
    return {name: value for name, value in last.items() if "_" in name}
