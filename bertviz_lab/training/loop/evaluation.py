"""What every evaluation needs: the model in evaluation mode, and counts of loss and correct labels."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from bertviz_lab.config import IGNORE_INDEX

#: Examples in a batch of an evaluation, whatever the batch size of the training: it bounds memory and fixes the score.
EVAL_BATCH_SIZE = 32
_SCORED_AT_ONCE = 512  # labels: their logits are copied twice


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Put the model into evaluation mode for the block, and back into its earlier mode."""
    was = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(was)


def count_correct(logits: Tensor, labels: Tensor) -> Tensor:
    """Count the labels, those of -100 left out, that have the largest logit."""
    return ((logits.argmax(-1) == labels) & (labels != IGNORE_INDEX)).sum()


class LabelScores:
    """Sum loss and correct predictions over all labels, batch by batch, and count what F1 of class 1 needs."""

    def __init__(self) -> None:
        self.loss, self.correct, self.count = 0.0, 0, 0
        self.positives = self.true_positives = 0

    def add(self, logits: Tensor, labels: Tensor) -> None:
        logits, labels = logits.flatten(0, -2), labels.flatten()
        for places in (labels != IGNORE_INDEX).nonzero().flatten().split(_SCORED_AT_ONCE):
            scored, wanted = logits[places].float(), labels[places]
            self.loss += float(torch.nn.functional.cross_entropy(scored, wanted, reduction="sum"))
            predicted = scored.argmax(-1)
            is_right, is_positive = predicted == wanted, wanted == 1
            self.correct += int(is_right.sum())
            self.count += len(wanted)
            self.positives += int(is_positive.sum())
            self.true_positives += int((is_right & is_positive).sum())

    def means(self, name: str) -> dict[str, float]:
        if not self.count:
            return {}
        return {f"{name}_loss": self.loss / self.count, f"{name}_accuracy": self.correct / self.count}
