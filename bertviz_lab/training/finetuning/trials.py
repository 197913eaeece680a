"""The trials of a fine-tuning, one after another: other seeds, the cells of a grid, the same from random weights."""

import itertools
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from torch import Tensor, nn

from bertviz_lab.config import FinetuneConfig
from bertviz_lab.config.finetune import GRIDS, RANDOM, RATE_FACTORS
from bertviz_lab.model.weights import read_tensors, state_for_huggingface, write_tensors
from bertviz_lab.strict_json import nan_for_null
from bertviz_lab.training.loop.loop import Progress
from bertviz_lab.training.runs.events import Event, StepDone


@dataclass(frozen=True)
class Trial:
    """One training from the start to its best model."""

    name: str  # what tells it from the others, for people; "" where it is the only one
    seed: int
    learning_rate: float
    batch_size: int
    epochs: int
    random: bool = False  # from random weights, to compare with


def trials_of(config: FinetuneConfig, learning_rate: float) -> tuple[Trial, ...]:
    """Return all trials of a run in their order; `learning_rate` is what the model's size suggests."""
    rate = config.learning_rate or learning_rate
    factors = RATE_FACTORS if config.grid == "rates" else (1.0,)
    as_set = tuple(factor * rate for factor in factors), (config.batch_size,), (config.epochs,)
    rates, sizes, epochs = GRIDS.get(config.grid, as_set)
    seeds = range(config.seed, config.seed + config.seeds)
    trials = []
    for cell, seed in itertools.product(itertools.product(rates, sizes, epochs), seeds):
        parts = [f"rate {cell[0]:.2g}, {cell[1]} a step, {cell[2]} epochs"] if config.grid != "none" else []
        parts += [f"seed {seed}"] if config.seeds > 1 else []
        trials.append(Trial(", ".join(parts), seed, *cell))
    if config.random_baseline and config.model != RANDOM:
        trials.append(Trial("random weights", config.seed, rate, config.batch_size, config.epochs, random=True))
    return tuple(trials)


def seed_statistics(done: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Trials that differ in their seed alone, where there are several: mean and standard deviation of each score."""
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for row in done:
        settings = tuple(row[name] for name in ("learning_rate", "batch_size", "epochs", "random"))
        groups.setdefault(settings, []).append(row)
    return [
        {
            "name": rows[0]["name"].removesuffix(f"seed {rows[0]['seed']}").rstrip(", "),
            "count": len(rows),
            "mean": {name: statistics.fmean(row["scores"][name] for row in rows) for name in rows[0]["scores"]},
            "deviation": {name: _deviation([row["scores"][name] for row in rows]) for name in rows[0]["scores"]},
        }
        for rows in groups.values()
        if len(rows) > 1
    ]


def _deviation(values: Sequence[float]) -> float:
    """Return the standard deviation of a sample; NaN where a value is infinite."""
    return statistics.stdev(values) if all(map(math.isfinite, values)) else math.nan


def progress_of(done: Sequence[Mapping[str, Any]]) -> Progress:
    """Steps, seconds and tokens up to the end of the trials that are done; a run counts them over all its trials."""
    return Progress(*(done[-1][name] for name in ("step", "seconds", "tokens"))) if done else Progress()


def shifted(event: Event, past: Progress, later_steps: int) -> Event:
    """An event of a trial as one of the run: counted from the `past` trials; `later_steps` are those of later ones."""
    changes = {name: getattr(event, name) + value for name, value in asdict(past).items() if hasattr(event, name)}
    if isinstance(event, StepDone):
        changes["eta_seconds"] = event.eta_seconds + later_steps * event.seconds / max(1, event.step)
    return replace(event, **changes)


_WEIGHTS = "best.safetensors"


def is_better(score: float, best: float, metric: str) -> bool:
    """Return whether a score is better than another: higher, a loss lower, and any number better than NaN."""
    if math.isnan(best):
        return not math.isnan(score)
    return score < best if metric == "loss" else score > best


@dataclass
class EarlyStopping:
    """Keeps the weights of the best model so far; training should stop after `patience` scores without a better one."""

    metric: str
    patience: int = 0  # 0: never
    step: int = -1  # of the best model, in its trial
    scores: dict[str, float] = field(default_factory=dict)  # of the best model, on the validation set
    waited: int = 0  # scores since then
    weights: dict[str, Tensor] = field(default_factory=dict)

    def update(self, scores: Mapping[str, float], step: int, model: nn.Module) -> None:
        """Remember the model where its scores are the best so far."""
        if not self.scores or is_better(scores[self.metric], self.scores[self.metric], self.metric):
            self.scores, self.step, self.waited = dict(scores), step, 0
            self.weights = state_for_huggingface(model)
        else:
            self.waited += 1

    @property
    def should_stop(self) -> bool:
        return 0 < self.patience <= self.waited

    def save(self, folder: Path) -> dict[str, Any]:
        """Write the best weights into a checkpoint; returns what `load` needs beside them."""
        if self.weights:
            write_tensors(self.weights, folder / _WEIGHTS)
        return {"step": self.step, "scores": self.scores, "waited": self.waited}

    @classmethod
    def load(cls, folder: Path, body: Mapping[str, Any], metric: str, patience: int) -> Self:
        """As a checkpoint has it."""
        weights = read_tensors([folder / _WEIGHTS]) if (folder / _WEIGHTS).is_file() else {}
        return cls(metric, patience, body["step"], nan_for_null(body["scores"]), body["waited"], weights)
