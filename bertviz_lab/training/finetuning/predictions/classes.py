"""Classification: the true and the predicted class of each text, and the report on them."""

from collections.abc import Sequence
from typing import cast

import numpy as np
from numpy.typing import NDArray

from bertviz_lab.data.examples import Example, LabelledText
from bertviz_lab.metrics import ClassificationReport, classification_report
from bertviz_lab.training.finetuning.predictions.prediction import UNKNOWN, Prediction


def class_numbers(
    examples: Sequence[Example], predictions: Sequence[Prediction], labels: Sequence[str]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """True and predicted classes, (n,) each; a label that the model does not know is numbered after those it knows."""
    index = {label: number for number, label in enumerate(labels)}
    texts = cast(Sequence[LabelledText], examples)
    truth = np.array([index.get(str(e.label), len(labels)) for e in texts], dtype=np.int64)
    return truth, np.array([index[p.label] for p in predictions], dtype=np.int64)


def class_scores(
    examples: Sequence[Example], predictions: Sequence[Prediction], labels: Sequence[str]
) -> ClassificationReport:
    """The report on predicted classes; all labels that the model does not know are one class that it never predicts."""
    truth, predicted = class_numbers(examples, predictions, labels)
    names = (*labels, UNKNOWN) if len(labels) in truth else tuple(labels)
    return classification_report(truth, predicted, names, known=len(labels))
