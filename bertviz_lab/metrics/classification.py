"""Scores of a classifier: accuracy, F1 by class, MCC, and the majority-class baseline."""

from collections.abc import Sequence
from dataclasses import dataclass

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
    length, there are no labels, or an index has none.
    """
    from sklearn.metrics import confusion_matrix, matthews_corrcoef, precision_recall_fscore_support

    known = len(labels) if known is None else known
    truth, predicted = np.asarray(truth, dtype=np.int64), np.asarray(predicted, dtype=np.int64)
    if truth.shape != predicted.shape or truth.ndim != 1:
        raise ValueError(f"true classes have shape {truth.shape}, predicted ones {predicted.shape}")
    both = np.concatenate([truth, predicted])
    if not len(labels) or (len(both) and not 0 <= both.min() <= both.max() < len(labels)):
        raise ValueError(f"a class is not among the {len(labels)} labels")
    if not len(truth):
        none = tuple(ClassScores(label, 0.0, 0.0, 0.0, 0) for label in labels)
        empty = np.zeros((len(labels), len(labels)), dtype=np.int64)
        return ClassificationReport(tuple(labels), known, 0, 0.0, 0.0, 0.0, 0.0, 0.0, none, empty)

    class_ids = np.arange(len(labels))
    precision, recall, f1, support = precision_recall_fscore_support(
        truth, predicted, labels=class_ids, average=None, zero_division=0.0
    )
    occurs = np.unique(both)
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
        per_class=tuple(
            ClassScores(label, float(p), float(r), float(f), int(n))
            for label, p, r, f, n in zip(labels, precision, recall, f1, support, strict=True)
        ),
        confusion=confusion_matrix(truth, predicted, labels=class_ids),
    )
