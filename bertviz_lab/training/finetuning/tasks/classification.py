"""Classification: one class for each text or pair of texts."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from bertviz_lab.data.examples import LabelledText
from bertviz_lab.data.tasks.batches import Features, TaskBatch
from bertviz_lab.data.tasks.task_report import is_unbalanced
from bertviz_lab.metrics.classification import ClassificationReport, classification_report
from bertviz_lab.model.losses import soft_target_loss
from bertviz_lab.training.finetuning.tasks.base import UNKNOWN, Logits, Outputs, Prediction, Texts, TextTask, fields


class Classification(TextTask):
    """The class with the largest logit; a label that the model does not know comes after those it knows."""

    name, title = "classification", "classification"
    label_type, one_label, slice_metric = str, True, "accuracy"

    def teacher_loss(self, logits: Logits, theirs: Tensor, batch: TaskBatch) -> Tensor:
        """Return the KL divergence of the softened distributions (Hinton et al. 2015, section 2)."""
        return soft_target_loss(logits[0], theirs) / max(1, batch.count)

    def predictions(self, examples: Texts, features: Features, outputs: list[Outputs]) -> list[Prediction]:
        from scipy.special import softmax

        shares = [softmax(out[0].astype(np.float64)) for out in outputs]
        return [Prediction(self.labels[int(row.argmax())], tuple(map(float, row))) for row in shares]

    def truth(self, examples: Texts) -> NDArray[np.int64]:
        """Return the true classes, (examples,)."""
        index = {label: number for number, label in enumerate(self.labels)}
        return np.array([index.get(str(e.label), len(self.labels)) for e in examples], dtype=np.int64)

    def report(self, examples: Texts, predictions: Sequence[Prediction]) -> ClassificationReport:
        """Return scores by class; all labels that the model does not know are one class that is never predicted."""
        truth, known = self.truth(examples), len(self.labels)
        index = {label: number for number, label in enumerate(self.labels)}
        predicted = np.array([index[p.label] for p in predictions], dtype=np.int64)
        names = (*self.labels, UNKNOWN) if known in truth else self.labels
        return classification_report(truth, predicted, names, known=known)

    def example_score(self, example: LabelledText, prediction: Prediction) -> float:
        return float(example.label == prediction.label)

    def scores(self, examples: Texts, predictions: Sequence[Prediction]) -> dict[str, float]:
        return fields(self.report(examples, predictions), "accuracy", "f1", "macro_f1", "mcc")

    def baselines(self, train: Texts, held_out: Texts) -> dict[str, float]:
        frequencies = Counter(str(example.label) for example in train)
        counts = np.array([frequencies[label] for label in self.labels], dtype=float)
        commonest = Prediction(self.labels[int(counts.argmax())])
        shares = dict(zip(self.labels, counts / counts.sum(), strict=True))
        likelihoods = [max(shares.get(str(example.label), 0.0), 1e-9) for example in held_out]
        return self.scores(held_out, [commonest] * len(held_out)) | {"loss": float(-np.mean(np.log(likelihoods)))}

    def selection_metric(self, train: Texts, baselines: dict[str, float]) -> str:
        """Return macro F1 for unbalanced classes, where accuracy flatters a model that always predicts the largest."""
        counts = Counter(str(example.label) for example in train)
        return "macro_f1" if is_unbalanced([*counts.values()]) else super().selection_metric(train, baselines)
