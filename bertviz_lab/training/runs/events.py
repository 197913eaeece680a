"""The events of a run as typed values: training yields them, everything else consumes them.

The command line, a notebook and the log file consume the same stream; the page reads the log, one JSON object a line.
"""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field

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
