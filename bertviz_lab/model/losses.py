"""The losses, apart from the model: what is compared with what, and averaged over what.

Every label of -100 is left out, and nothing else is. A mean is a sum over a count; a caller that splits a batch
into parts gives the whole batch's `count`, so that the parts' gradients add up to those of the whole.
"""

import torch.nn.functional as F
from torch import Tensor

IGNORE = -100


def cross_entropy(logits: Tensor, labels: Tensor, count: Tensor | int | None = None) -> Tensor:
    """Mean of -log p(label) in nats: logits (..., classes), labels (...); over `count` labels, or those present.

    Without a label to be counted the loss is 0, as is its gradient.
    """
    total = F.cross_entropy(logits.flatten(0, -2).float(), labels.flatten(), ignore_index=IGNORE, reduction="sum")
    return total / ((labels != IGNORE).sum().clamp(min=1) if count is None else count)


def label_loss(logits: Tensor, labels: Tensor) -> Tensor:
    """Cross-entropy, or the mean squared error of logits (batch, 1) where there is one class only."""
    if logits.shape[-1] == 1:
        return F.mse_loss(logits.squeeze(-1).float(), labels.float())
    return cross_entropy(logits, labels)


def span_loss(start_logits: Tensor, end_logits: Tensor, starts: Tensor, ends: Tensor) -> Tensor:
    """Mean of the start and end cross-entropies; positions beyond the text (-100 or >= tokens) are left out."""
    length = start_logits.shape[-1]
    starts = starts.masked_fill(starts >= length, IGNORE)
    ends = ends.masked_fill(ends >= length, IGNORE)
    return (cross_entropy(start_logits, starts) + cross_entropy(end_logits, ends)) / 2
