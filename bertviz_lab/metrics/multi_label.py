"""Scores of a classifier whose texts have any number of labels, and the thresholds from which on a label applies."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bertviz_lab.metrics.classification import ClassScores, whole_numbers

#: Thresholds that are tried.
_THRESHOLDS = np.arange(1, 100) / 100


@dataclass(frozen=True)
class MultiLabelReport:
    """The scores of a multi-label classifier; all are between 0 and 1.

    `micro_f1` counts every decision on every label the same, `macro_f1` every label: the mean of their F1, of which a
    label without a true or predicted example has 0. `subset_accuracy` is the share of texts with exactly their labels.
    """

    labels: tuple[str, ...]
    count: int
    micro_f1: float
    macro_f1: float
    subset_accuracy: float
    per_class: tuple[ClassScores, ...]


def multi_label_report(
    truth: NDArray[np.bool_], predicted: NDArray[np.bool_], labels: Sequence[str]
) -> MultiLabelReport:
    """Score predicted labels, (examples, labels), beside the true ones, (examples, labels).

    Raises `ValueError` where the shapes do not fit, or a label is neither 0 nor 1, such as a probability.
    """
    truth, predicted = whole_numbers(truth, 1).astype(bool), whole_numbers(predicted, 1).astype(bool)
    if truth.shape != predicted.shape or truth.ndim != 2 or truth.shape[1] != len(labels):
        raise ValueError(
            f"true labels {truth.shape}, predicted ones {predicted.shape}, {len(labels)} labels do not fit"
        )
    counts = [numbers.sum(0).tolist() for numbers in (truth & predicted, predicted, truth)]
    per_class = tuple(ClassScores.of_counts(*of_label) for of_label in zip(labels, *counts, strict=True))
    if not truth.size:
        return MultiLabelReport(tuple(labels), len(truth), 0.0, 0.0, 0.0, per_class)
    overall = ClassScores.of_counts("", *map(sum, counts))
    return MultiLabelReport(
        labels=tuple(labels),
        count=len(truth),
        micro_f1=overall.f1,
        macro_f1=float(np.mean([scores.f1 for scores in per_class])),
        subset_accuracy=float((truth == predicted).all(axis=1).mean()),
        per_class=per_class,
    )


def choose_thresholds(
    probabilities: NDArray[np.floating], truth: NDArray[np.bool_], *, per_label: bool = False
) -> tuple[float, ...]:
    """The threshold, 0.01 to 0.99, with the best micro F1 on these examples; `per_label`, that of each label's best F1.

    `probabilities` and `truth` are (examples, labels). Of several equally good ones the nearest to 0.5 is taken, as for
    a label that no example has.
    """
    truth = np.asarray(truth, dtype=bool)
    positives = truth.sum(0)  # (labels,)
    counts = [(predicted & truth, predicted) for predicted in (probabilities >= t for t in _THRESHOLDS)]
    hits = np.array([right.sum(0) for right, _ in counts]).reshape(len(_THRESHOLDS), -1)  # (thresholds, labels)
    named = np.array([predicted.sum(0) for _, predicted in counts]).reshape(len(_THRESHOLDS), -1)
    if not per_label:
        hits, named, positives = hits.sum(1, keepdims=True), named.sum(1, keepdims=True), positives.sum(keepdims=True)
    f1 = 2 * hits / np.maximum(1, named + positives)
    nearest_first = np.argsort(np.abs(_THRESHOLDS - 0.5), kind="stable")
    best = nearest_first[f1[nearest_first].argmax(0)]
    return tuple(float(_THRESHOLDS[place]) if n else 0.5 for place, n in zip(best, positives, strict=True))
