"""Early stopping: keep the best model so far by a held-out score, and say when a run has stopped learning."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from bertviz_lab.model.weights import read_tensors, state_for_huggingface, write_tensors
from bertviz_lab.strict_json import nan_for_null

_WEIGHTS = "best.safetensors"


def is_better(score: float, best: float, metric: str) -> bool:
    """Return whether a score is better than another: higher, a loss lower, and any number better than NaN."""
    if math.isnan(best):
        return not math.isnan(score)
    return score < best if metric.endswith("loss") else score > best


@dataclass
class EarlyStopping:
    """Keeps the weights of the best model so far; training should stop after `patience` scores without a better one."""

    metric: str
    patience: int = 0  # 0: never
    step: int = -1  # of the best model, in its trial
    scores: dict[str, float] = field(default_factory=dict)  # of the best model, on the validation set
    waited: int = 0  # scores since then
    weights: dict[str, Tensor] = field(default_factory=dict)
    last_step: int = -1  # that was scored

    def update(self, scores: Mapping[str, float], step: int, model: nn.Module) -> None:
        """Remember the model where its scores are the best so far."""
        self.last_step = step
        if not self.scores or is_better(scores[self.metric], self.scores[self.metric], self.metric):
            self.scores, self.step, self.waited = dict(scores), step, 0
            self.weights = state_for_huggingface(model)
        else:
            self.waited += 1

    @property
    def should_stop(self) -> bool:
        return 0 < self.patience <= self.waited

    def save(self, folder: Path) -> dict[str, Any]:
        """Write the best weights into a checkpoint; returns what `restore` needs beside them."""
        if self.weights:
            write_tensors(self.weights, folder / _WEIGHTS)
        return {"step": self.step, "scores": self.scores, "waited": self.waited, "last_step": self.last_step}

    def restore(self, folder: Path, body: Mapping[str, Any]) -> None:
        """Go on from what `save` has put into a checkpoint."""
        vars(self).update(nan_for_null(dict(body)))
        if (folder / _WEIGHTS).is_file():
            self.weights = read_tensors([folder / _WEIGHTS])


_FEWEST, _SHARE = 5, 0.25  # evaluations without a gain, and of all: less may be chance
_NOTICEABLE = 0.005  # of a loss; the held-out text is the same each time


def stopped_learning(losses: Sequence[tuple[int, float]], name: str) -> str:
    """Return that held-out losses, (step, loss), have not fallen noticeably for long, and since when; "" otherwise."""
    if not losses:
        return ""
    best = min(loss for _, loss in losses)
    place = next(index for index, (_, loss) in enumerate(losses) if loss <= best * (1 + _NOTICEABLE))
    waited, (step, loss) = len(losses) - 1 - place, losses[place]
    if waited < max(_FEWEST, _SHARE * len(losses)):
        return ""
    since = f"the {waited} evaluations since step {step:,} have not lowered the {name} ({loss:.3f}) by more than 0.5%"
    return f"This run has stopped learning: {since}."
