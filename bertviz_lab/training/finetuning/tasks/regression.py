"""Regression: a number for each text. Models are trained on standardized targets and saved in the original unit."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Self, cast

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from bertviz_lab.data.examples import LabelledText
from bertviz_lab.data.tasks.batches import Features, TaskBatch
from bertviz_lab.errors import InputError
from bertviz_lab.metrics.regression import regression_scores
from bertviz_lab.training.finetuning.tasks.base import Logits, Outputs, Prediction, Texts, TextTask

#: Errors beyond this many standard deviations count linearly, so that no single target decides a step.
HUBER_DELTA = 3.0
#: Targets below and above these quantiles are set to them before mean and standard deviation are taken.
_QUANTILES = (0.05, 0.95)
#: Standard deviations that two neighboring 32-bit numbers may be apart.
_FINEST = 0.01


@dataclass(frozen=True)
class TargetScaler:
    """Standardizes targets by the mean and standard deviation of the training targets; extremes are winsorized.

    A model is trained on standardized targets. Where it is scored or saved, its last layer is rescaled, so that its
    files predict the original unit in any library.
    """

    mean: float
    std: float

    @classmethod
    def fit(cls, targets: Sequence[float] | NDArray[np.floating]) -> Self:
        """From the training targets, (examples,). The spread of equal targets counts as 1.

        Raises `InputError` for targets that 32-bit numbers, which models compute in, cannot hold or tell apart.
        """
        values = np.asarray(targets, dtype=np.float64)
        if np.abs(values).max() > np.finfo(np.float32).max:
            raise InputError("A target is beyond 3.4e38, the largest 32-bit number; give the targets in a larger unit.")
        low = np.quantile(values, _QUANTILES[0], method="higher")
        high = np.quantile(values, _QUANTILES[1], method="lower")
        winsorized = values.clip(min(low, high), max(low, high))
        if winsorized.std() > 0:
            values = winsorized
        mean, std = float(values.mean()), float(values.std())
        apart = np.spacing(np.float32(abs(mean)))
        if std and apart > _FINEST * std:
            about = f"The targets differ too little for their size: around {mean:g}, 32-bit numbers are {apart:g} apart"
            raise InputError(f"{about}. Subtract the same number from all of them.")
        return cls(mean, std or 1.0)

    def standardize(self, targets: NDArray[np.floating]) -> NDArray[np.float32]:
        return ((targets.astype(np.float64) - self.mean) / self.std).astype(np.float32)

    @torch.no_grad()
    def standardize_head(self, head: nn.Linear) -> None:
        """A head that predicts the original unit predicts standardized targets from now on."""
        head.weight.div_(self.std)
        head.bias.sub_(self.mean).div_(self.std)

    @contextmanager
    def original_unit(self, head: nn.Linear) -> Iterator[None]:
        """Inside, the head predicts the original unit; afterwards its parameters are bit for bit what they were."""
        state = head_state(head)
        with torch.no_grad():
            head.weight.mul_(self.std)
            head.bias.mul_(self.std).add_(self.mean)
        try:
            yield
        finally:
            head.load_state_dict(state)


def head_state(head: nn.Linear) -> dict[str, Tensor]:
    """Return copies of a head's parameters, by their names."""
    return {name: parameter.detach().cpu().clone() for name, parameter in head.named_parameters()}


class Regression(TextTask):
    """One logit, the number in its original unit."""

    name, title, column = "regression", "rating", "number"
    label_type, slice_metric, numeric = float, "pearson", True
    unchecked = "A number is not right or wrong: look at the largest errors among the results instead."

    def model_settings(self, train: Texts) -> dict[str, Any]:
        return {"num_labels": 1, "id2label": ("number",), "problem_type": "regression"}

    def loss(self, logits: Logits, batch: TaskBatch, weights: Tensor | None = None, training: bool = False) -> Tensor:
        """Return the squared error; in `training`, of standardized targets, it is linear beyond `HUBER_DELTA`."""
        predicted, count = logits[0].squeeze(-1).float(), max(1, batch.count)
        if training:  # torch halves it
            return 2 * F.huber_loss(predicted, batch.targets, delta=HUBER_DELTA, reduction="sum") / count
        return F.mse_loss(predicted, batch.targets, reduction="sum") / count

    def predictions(self, examples: Texts, features: Features, outputs: list[Outputs]) -> list[Prediction]:
        return [Prediction(str(out[0][0])) for out in outputs]

    def example_score(self, example: LabelledText, prediction: Prediction) -> float:
        return -abs(cast(float, example.label) - float(prediction.label))

    def scores(self, examples: Texts, predictions: Sequence[Prediction]) -> dict[str, float]:
        return regression_scores(numbers_of(examples), np.array([float(p.label) for p in predictions]))

    def baselines(self, train: Texts, held_out: Texts) -> dict[str, float]:
        loss = float(((numbers_of(held_out) - float(np.mean(numbers_of(train)))) ** 2).mean())
        return {"spearman": 0.0, "pearson": 0.0, "loss": loss}

    def answer(self, prediction: Prediction) -> float:
        return float(prediction.label)


def numbers_of(examples: Texts) -> NDArray[np.float64]:
    """Return the targets, (examples,)."""
    return np.array([cast(float, example.label) for example in examples], dtype=np.float64)
