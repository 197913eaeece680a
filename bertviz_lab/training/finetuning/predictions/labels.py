"""Labels of texts: the class of each, or all that apply, by thresholds on probabilities chosen on validation data."""

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from bertviz_lab.data.examples import Example, LabelledText
from bertviz_lab.data.tasks.features import Features, multi_hot
from bertviz_lab.metrics import (
    ClassificationReport,
    MultiLabelReport,
    choose_thresholds,
    classification_report,
    multi_label_report,
)
from bertviz_lab.training.finetuning.predictions.prediction import UNKNOWN, Prediction

#: A label applies from this probability on where no other threshold was chosen.
_HALF = (0.5,)


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
    """The decision thresholds that suit validation examples best: "one" for all labels, or one "per-label"."""
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
