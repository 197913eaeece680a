"""Multi-label classification: any number of labels for each text, those whose probability reaches a threshold."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import compress
from typing import Self, cast

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from bertviz_lab.config import FinetuneConfig
from bertviz_lab.data.examples import LabelledText
from bertviz_lab.data.tasks.batches import Features, TaskBatch, multi_hot
from bertviz_lab.metrics.classification import MultiLabelReport, choose_thresholds, multi_label_report
from bertviz_lab.training.finetuning.tasks.base import UNKNOWN, Logits, Outputs, Prediction, Texts, TextTask, fields


class MultiLabel(TextTask):
    """A sigmoid for each label."""

    name, title, column = "multilabel", "multi-label classification", "labels"
    label_type = tuple

    def model_settings(self, train: Texts) -> dict:
        settings = {"problem_type": "multi_label_classification", "decision_thresholds": self.thresholds}
        return super().model_settings(train) | settings

    def loss(self, logits: Logits, batch: TaskBatch, weights: Tensor | None = None, training: bool = False) -> Tensor:
        """Return the mean over texts and labels; `weights`, one for each label, multiply its positive terms."""
        summed = F.binary_cross_entropy_with_logits(
            logits[0].float(), batch.targets, pos_weight=weights, reduction="sum"
        )
        return summed / max(1, batch.count * batch.targets.shape[1])

    def teacher_loss(self, logits: Logits, theirs: Tensor, batch: TaskBatch) -> Tensor:
        """Return the cross-entropy with the teacher's probabilities in place of the labels."""
        return self.loss(logits, replace(batch, targets=theirs.sigmoid()))

    def class_weights(self, features: Features) -> NDArray[np.float32]:
        """Return for each label the number of texts without it over that of texts with it."""
        positives = cast(NDArray, features.targets).sum(0)
        return ((len(features) - positives) / np.maximum(1, positives)).astype(np.float32)

    @torch.no_grad()
    def start_head(self, model: nn.Module, train: Features) -> None:
        """Set the biases of a new head to the log-odds of the labels (Lin et al. 2017, section 3.3).

        From biases of zero the first steps only make all rare labels less likely, by the weights too, and a small
        model does not recover from what that does to its pooled vector.
        """
        shares = torch.from_numpy(np.asarray(train.targets)).float().mean(0).clamp(1e-4, 1 - 1e-4)
        model.get_parameter("classifier.bias").copy_(torch.logit(shares))

    def predictions(self, examples: Texts, features: Features, outputs: list[Outputs]) -> list[Prediction]:
        from scipy.special import expit

        shares = [expit(out[0].astype(np.float64)) for out in outputs]
        return self.decide([Prediction(probabilities=tuple(map(float, row))) for row in shares])

    def decide(self, predictions: Sequence[Prediction]) -> list[Prediction]:
        """Return the predictions with the labels whose probability reaches its threshold, one half where none is."""
        limits = np.broadcast_to(np.array(self.thresholds or (0.5,)), len(self.labels))
        return [replace(p, labels=tuple(compress(self.labels, limits <= p.probabilities))) for p in predictions]

    def tune(self, examples: Texts, predictions: Sequence[Prediction], config: FinetuneConfig) -> Self:
        probabilities = np.array([p.probabilities for p in predictions])
        truth = multi_hot(examples, self.labels) > 0
        chosen = choose_thresholds(probabilities, truth, per_label=config.thresholds == "per-label")
        return replace(self, thresholds=chosen)

    def report(self, examples: Texts, predictions: Sequence[Prediction]) -> MultiLabelReport:
        """Return scores by label; all that the model does not know are one label that it never predicts."""
        truth = multi_hot(examples, self.labels) > 0
        predicted = np.array([[label in p.labels for label in self.labels] for p in predictions], dtype=bool)
        predicted = predicted.reshape(truth.shape)
        known = set(self.labels)
        unknown = np.array([not set(cast(tuple[str, ...], e.label)) <= known for e in examples], dtype=bool)[:, None]
        if unknown.any():
            truth, predicted = np.hstack([truth, unknown]), np.hstack([predicted, np.zeros_like(unknown)])
        return multi_label_report(truth, predicted, (*self.labels, UNKNOWN)[: truth.shape[1]])

    def example_score(self, example: LabelledText, prediction: Prediction) -> float:
        """Return the Jaccard index: labels in common, of all that either has."""
        true, predicted = set(cast(tuple[str, ...], example.label)), set(prediction.labels)
        return len(true & predicted) / len(true | predicted) if true | predicted else 1.0

    def scores(self, examples: Texts, predictions: Sequence[Prediction]) -> dict[str, float]:
        return fields(self.report(examples, predictions), "micro_f1", "macro_f1", "subset_accuracy")

    def baselines(self, train: Texts, held_out: Texts) -> dict[str, float]:
        shares = multi_hot(train, self.labels).mean(0, dtype=np.float64)
        commonest = Prediction(labels=(self.labels[int(shares.argmax())],))
        known, shares = multi_hot(held_out, self.labels), shares.clip(1e-9, 1 - 1e-9)
        loss = float(-np.mean(known * np.log(shares) + (1 - known) * np.log(1 - shares)))
        return self.scores(held_out, [commonest] * len(held_out)) | {"loss": loss}

    def answer(self, prediction: Prediction) -> str:
        return "|".join(prediction.labels)
