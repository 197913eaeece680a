"""Scores of a classifier: accuracy, F1 by class, MCC, and the majority-class baseline."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray


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
    balanced_accuracy: float  # the mean recall of the classes that occur in truth
    macro_f1: float  # every class counts the same
    weighted_f1: float  # classes count as often as they occur in truth
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

    Only the first `known` labels are of the classifier, by default all. Raises `ValueError` where the two differ in
    length, there are no labels, or a class is no index of one, such as a probability.
    """
    from sklearn.metrics import matthews_corrcoef

    count = len(labels)
    known = count if known is None else known
    truth, predicted = whole_numbers(truth, count - 1), whole_numbers(predicted, count - 1)
    if truth.shape != predicted.shape or truth.ndim != 1 or not count:
        raise ValueError(f"true classes have shape {truth.shape}, predicted ones {predicted.shape}, of {count} labels")
    if not len(truth):
        none = tuple(ClassScores(label, 0.0, 0.0, 0.0, 0) for label in labels)
        empty = np.zeros((count, count), dtype=np.int64)
        return ClassificationReport(tuple(labels), known, 0, 0.0, 0.0, 0.0, 0.0, 0.0, none, empty)

    confusion = np.bincount(count * truth + predicted, minlength=count**2).reshape(count, count)
    counts = np.stack([confusion.diagonal(), confusion.sum(0), confusion.sum(1)], axis=1)  # right, predicted, true
    per_class = tuple(ClassScores.of_counts(label, *row) for label, row in zip(labels, counts.tolist(), strict=True))
    recall, f1, support = np.array([(scores.recall, scores.f1, scores.support) for scores in per_class]).T
    occurs = np.union1d(truth, predicted)
    return ClassificationReport(
        labels=tuple(labels),
        known=known,
        count=len(truth),
        accuracy=float((truth == predicted).mean()),
        balanced_accuracy=float(recall[support > 0].mean()),
        macro_f1=float(f1[occurs].mean()),
        weighted_f1=float(np.average(f1, weights=support)),
        # With one class in all there is nothing to tell apart.
        mcc=float(matthews_corrcoef(truth, predicted)) if len(occurs) > 1 else 0.0,
        per_class=per_class,
        confusion=confusion,
    )


def whole_numbers(values: ArrayLike, most: int) -> NDArray[np.int64]:
    """Classes, or 0 and 1 of several labels, as integers. Raises `ValueError` where one is not of 0 to `most`."""
    array = np.asarray(values)
    wrong = array[~np.isin(array, np.arange(most + 1))]
    if wrong.size:
        raise ValueError(f"classes and labels must be whole numbers from 0 to {most}, not {wrong[0]}")
    return array.astype(np.int64)
