"""Early stopping: the best model of a trial by its validation score, and when to stop waiting for a better one."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from torch import Tensor, nn

from bertviz_lab.model.weights import read_tensors, state_for_huggingface, write_tensors
from bertviz_lab.strict_json import nan_for_null

_WEIGHTS = "best.safetensors"


def is_better(score: float, best: float, metric: str) -> bool:
    """Whether a score is better than another: higher, a loss lower, and any number better than NaN."""
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
