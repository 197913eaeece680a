"""Scores of a classifier: accuracy, F1 by class, MCC; of one with several labels; calibration."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class ClassScores:
    """How well one class, or one type of entity, is found; each of the three is between 0 and 1."""

    label: str
    precision: float  # of what was called so, the share that is so
    recall: float  # of what is so, the share that was called so
    f1: float  # the harmonic mean of the two
    support: int  # how many there are in truth

    @classmethod
    def of_counts(cls, label: str, true_positives: int, predicted: int, true: int) -> Self:
        """From how many were rightly called so, called so in all, and are so."""
        precision, recall = true_positives / max(1, predicted), true_positives / max(1, true)
        # F1 = 2 P R / (P + R), which is 2 hits / (predicted + true).
        return cls(label, precision, recall, 2 * true_positives / max(1, predicted + true), true)


@dataclass(frozen=True)
class ClassificationReport:
    """The scores of a classifier on labelled texts; all but `mcc` (-1 to 1) are between 0 and 1.

    Averages over classes are over those that occur, in truth or as a prediction. `confusion` is (classes, classes):
    the row is the true class, the column the predicted one. The first `known` labels are those of the classifier;
    others are of true classes that it cannot predict.
    """

    labels: tuple[str, ...]
    known: int
    count: int
    accuracy: float
    macro_f1: float  # every class counts the same
    mcc: float  # Matthews' correlation: 0 at chance, whatever the classes' shares
    per_class: tuple[ClassScores, ...]
    confusion: NDArray[np.int64]

    @property
    def f1(self) -> float:
        """F1 of the second class of a binary classifier, as GLUE has it for MRPC and QQP; of others `macro_f1`."""
        return self.per_class[1].f1 if self.known == 2 else self.macro_f1


def classification_report(
    truth: NDArray[np.integer], predicted: NDArray[np.integer], labels: Sequence[str], *, known: int | None = None
) -> ClassificationReport:
    """Score predicted classes, (examples,), beside the true ones, (examples,), both indices into `labels`.

    Only the first `known` labels are of the classifier, by default all.
    """
    count, no_examples = len(labels), not len(truth)
    confusion = np.bincount(count * truth + predicted, minlength=count**2).reshape(count, count)
    counts = np.stack([confusion.diagonal(), confusion.sum(0), confusion.sum(1)], axis=1)  # right, predicted, true
    per_class = tuple(ClassScores.of_counts(label, *row) for label, row in zip(labels, counts.tolist(), strict=True))
    f1 = np.array([scores.f1 for scores in per_class])
    occurs = np.union1d(truth, predicted)
    return ClassificationReport(
        labels=tuple(labels),
        known=count if known is None else known,
        count=len(truth),
        accuracy=0.0 if no_examples else float((truth == predicted).mean()),
        macro_f1=0.0 if no_examples else float(f1[occurs].mean()),
        mcc=_matthews_correlation(confusion),
        per_class=per_class,
        confusion=confusion,
    )


def _matthews_correlation(confusion: NDArray[np.integer]) -> float:
    """Return Matthews' correlation for any number of classes (Gorodkin 2004), 0 where truth or prediction is one class.

    Importing scikit-learn, which has it too, would delay every run and evaluation by a second.
    """
    predicted, true = confusion.sum(0, dtype=np.float64), confusion.sum(1, dtype=np.float64)
    count = predicted.sum()
    covariance = count * confusion.trace() - true @ predicted
    deviations = np.sqrt((count**2 - predicted @ predicted) * (count**2 - true @ true))
    return float(covariance / deviations) if deviations else 0.0


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
    """Score predicted labels, (examples, labels), beside the true ones, (examples, labels)."""
    counts = [numbers.sum(0).tolist() for numbers in (truth & predicted, predicted, truth)]
    per_class = tuple(ClassScores.of_counts(*of_label) for of_label in zip(labels, *counts, strict=True))
    overall = ClassScores.of_counts("", *map(sum, counts))
    return MultiLabelReport(
        labels=tuple(labels),
        count=len(truth),
        micro_f1=overall.f1,
        macro_f1=float(np.mean([scores.f1 for scores in per_class])) if per_class else 0.0,
        subset_accuracy=float((truth == predicted).all(axis=1).mean()) if truth.size else 0.0,
        per_class=per_class,
    )


def choose_thresholds(
    probabilities: NDArray[np.floating], truth: NDArray[np.bool_], *, per_label: bool = False
) -> tuple[float, ...]:
    """Return the threshold, 0.01 to 0.99, with the best micro F1; `per_label`, that of each label's best F1.

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


@dataclass(frozen=True)
class CalibrationBin:
    """The predictions whose confidence is above `low` and at most `high`; without any, the two means are 0."""

    low: float
    high: float
    count: int
    confidence: float  # their mean confidence: the probability of the likeliest class
    accuracy: float  # the share of them that is right


@dataclass(frozen=True)
class Calibration:
    """How far confidence and accuracy are apart."""

    bins: tuple[CalibrationBin, ...]
    ece: float  # in the mean over all predictions: between 0, honest, and 1; NaN where a probability is NaN


def calibration(probabilities: NDArray[np.floating], truth: NDArray[np.integer], bins: int = 10) -> Calibration:
    """Sort predictions, (examples, classes), by how sure they are, and see how many are right; `truth` (examples,).

    In `truth` the number after the last class is any that the classifier does not know.
    """
    valid = ~np.isnan(probabilities).any(axis=1)
    probabilities, truth = np.asarray(probabilities, dtype=np.float64)[valid], truth[valid]
    confidence = probabilities.max(axis=1, initial=0.0)
    correct = probabilities.argmax(axis=1) == truth if probabilities.size else np.zeros(len(truth), dtype=bool)

    edges = np.linspace(0.0, 1.0, bins + 1)
    bin_of = np.clip(np.digitize(confidence, edges, right=True) - 1, 0, bins - 1)
    counts = np.bincount(bin_of, minlength=bins)
    totals = np.maximum(counts, 1)
    means = np.bincount(bin_of, weights=confidence, minlength=bins) / totals
    rates = np.bincount(bin_of, weights=correct, minlength=bins) / totals
    rows = zip(*(array.tolist() for array in (edges[:-1], edges[1:], counts, means, rates)), strict=True)
    ece = float((np.abs(means - rates) * counts).sum() / max(1, counts.sum()))
    return Calibration(tuple(CalibrationBin(*row) for row in rows), ece if valid.all() else np.nan)
