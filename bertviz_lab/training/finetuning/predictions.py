"""What a fine-tuned model predicts: a class, all labels above their thresholds, a number in its original unit."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Self, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from bertviz_lab import strict_json
from bertviz_lab.data.examples import Example, LabelledText
from bertviz_lab.data.tasks.batches import Features, multi_hot
from bertviz_lab.errors import InputError
from bertviz_lab.metrics import (
    ClassificationReport,
    MultiLabelReport,
    choose_thresholds,
    classification_report,
    multi_label_report,
)
from bertviz_lab.training.checkpoints.atomic_io import atomic_file

#: A label applies from this probability on where no other threshold was chosen.
_HALF = (0.5,)


#: The label, in scores, of what has one that the model does not know.
UNKNOWN = "(unknown to the model)"


@dataclass(frozen=True)
class Prediction:
    """A prediction for one example; which fields are set depends on the task.

    Attributes:
        label: the class, or for regression the number as text, or the answer ("" for none); of embeddings the cosine
            of a pair as text.
        probabilities: of every class, in the order of the model's labels.
        labels: of words, one each; `certainty` is the probability of each. Of a text with any number of labels, those.
        start, end: characters of the answer in the passage.
        no_answer: how much likelier than the best answer none is, as a difference of scores.
        best: the best few answers, each (text, start, end, probability).
        rank: of a positive among all candidates, from 1; 0 where nothing is ranked.
    """

    label: str = ""
    probabilities: tuple[float, ...] = ()
    labels: tuple[str, ...] = ()
    certainty: tuple[float, ...] = ()
    start: int = 0
    end: int = 0
    no_answer: float = 0.0
    best: tuple[tuple[str, int, int, float], ...] = ()
    rank: int = 0


def write_predictions(path: Path, examples: Sequence[Example], predictions: Sequence[Prediction]) -> None:
    """One JSON object a line: an example under "example", what was predicted under "prediction"."""
    with atomic_file(path) as fresh, fresh.open("w", encoding="utf-8") as file:
        for example, prediction in zip(examples, predictions, strict=True):
            body = {"example": asdict(example), "prediction": asdict(prediction)}
            file.write(strict_json.dumps(body) + "\n")  # ASCII: some readers end lines at U+2028


def class_numbers(
    examples: Sequence[Example], predictions: Sequence[Prediction], labels: Sequence[str]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return true and predicted classes, (n,) each; a label that the model does not know comes after those it knows."""
    index = {label: number for number, label in enumerate(labels)}
    texts = cast(Sequence[LabelledText], examples)
    truth = np.array([index.get(str(e.label), len(labels)) for e in texts], dtype=np.int64)
    return truth, np.array([index[p.label] for p in predictions], dtype=np.int64)


def class_scores(
    examples: Sequence[Example], predictions: Sequence[Prediction], labels: Sequence[str]
) -> ClassificationReport:
    """Return the report on predicted classes; all labels that the model does not know are one class never predicted."""
    truth, predicted = class_numbers(examples, predictions, labels)
    names = (*labels, UNKNOWN) if len(labels) in truth else tuple(labels)
    return classification_report(truth, predicted, names, known=len(labels))


@torch.no_grad()
def start_at_label_frequencies(head: nn.Linear, train: Features) -> None:
    """Set the biases of a new head to the log-odds of the labels (Lin et al. 2017, section 3.3).

    From biases of zero the first steps only make all rare labels less likely, by the weights too, and a small model
    does not recover from what that does to its pooled vector.
    """
    shares = torch.from_numpy(np.asarray(train.targets)).float().mean(0).clamp(1e-4, 1 - 1e-4)
    head.bias.copy_(torch.logit(shares))


def multi_label_predictions(
    outputs: Sequence[tuple[NDArray[np.float32], ...]], labels: Sequence[str], thresholds: Sequence[float] = ()
) -> list[Prediction]:
    """Logits, (labels,) each, as the labels whose probability reaches its threshold: one for all, or one each."""
    logits = np.stack([out[0] for out in outputs]) if outputs else np.empty((0, len(labels)), np.float32)
    from scipy.special import expit

    shares = expit(logits.astype(np.float64))
    return with_thresholds([Prediction(probabilities=tuple(map(float, row))) for row in shares], labels, thresholds)


def with_thresholds(
    predictions: Sequence[Prediction], labels: Sequence[str], thresholds: Sequence[float]
) -> list[Prediction]:
    """Multi-label predictions with the labels whose probability reaches its threshold."""
    limits = np.broadcast_to(np.array(thresholds or _HALF), len(labels))
    return [
        replace(
            p, labels=tuple(n for n, share, low in zip(labels, p.probabilities, limits, strict=True) if share >= low)
        )
        for p in predictions
    ]


def tuned_thresholds(
    examples: Sequence[Example], predictions: Sequence[Prediction], labels: Sequence[str], how: str
) -> tuple[float, ...]:
    """Return the decision thresholds that suit validation examples best: "one" for all labels, or one "per-label"."""
    truth, _ = label_sets(examples, predictions, labels)
    probabilities = np.array([p.probabilities for p in predictions])
    return choose_thresholds(probabilities, truth[:, : len(labels)], per_label=how == "per-label")


def label_sets(
    examples: Sequence[Example], predictions: Sequence[Prediction], labels: Sequence[str]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """True and predicted labels, (n, labels) each; one column more where texts have labels unknown to the model."""
    texts = cast(Sequence[LabelledText], examples)
    truth = multi_hot(texts, labels) > 0
    predicted = np.array([[label in p.labels for label in labels] for p in predictions], dtype=bool)
    unknown = np.array([not set(cast(tuple[str, ...], e.label)) <= set(labels) for e in texts], dtype=bool)[:, None]
    if unknown.any():
        return np.hstack([truth, unknown]), np.hstack([predicted, np.zeros_like(unknown)])
    return truth, predicted.reshape(truth.shape)


def multi_label_scores(
    examples: Sequence[Example], predictions: Sequence[Prediction], labels: Sequence[str]
) -> MultiLabelReport:
    """The report on multi-label predictions; a label that the model does not know is one that it never predicts."""
    truth, predicted = label_sets(examples, predictions, labels)
    return multi_label_report(truth, predicted, (*labels, UNKNOWN)[: truth.shape[1]])


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
        if std and np.spacing(np.float32(abs(mean))) > _FINEST * std:
            raise InputError(
                f"The targets differ too little for their size: around {mean:g}, 32-bit numbers are "
                f"{np.spacing(np.float32(abs(mean))):g} apart. Subtract the same number from all of them."
            )
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
            load_head_state(head, state)


def head_state(head: nn.Linear) -> dict[str, Tensor]:
    """Return copies of a head's parameters, by their names."""
    return {name: parameter.detach().cpu().clone() for name, parameter in head.named_parameters()}


@torch.no_grad()
def load_head_state(head: nn.Linear, state: dict[str, Tensor]) -> None:
    """Put back what `head_state` copied."""
    for name, parameter in head.named_parameters():
        parameter.copy_(state[name])
