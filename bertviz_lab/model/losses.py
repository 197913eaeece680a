"""The losses, apart from the model: what is compared with what, and averaged over what.

Every label of -100 is left out, and nothing else is. A mean is a sum over a count; a caller that splits a batch
into parts gives the whole batch's `count`, so that the parts' gradients add up to those of the whole.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from bertviz_lab.config import IGNORE_INDEX

_AT_ONCE = 1 << 18  # logits: a megabyte in 32 bits, which stays in a core's cache; fewer are not divided


def cross_entropy(logits: Tensor, labels: Tensor, count: Tensor | int | None = None) -> Tensor:
    """Return the MLM, NSP or causal-LM loss: mean -log p(label) in nats of logits (..., C), over `count` or all labels.

    Without a label to be counted the loss is 0, as is its gradient; a label that is no class is refused by torch.
    Raises `ValueError` for labels of another shape than (...) or (..., 1).
    """
    labels = _in_shape(labels, logits, logits.shape[:-1])
    count = (labels != IGNORE_INDEX).sum().clamp(min=1) if count is None else count
    logits, labels = logits.flatten(0, -2), labels.flatten()
    if logits.device.type == "cpu" and logits.numel() > _AT_ONCE:
        return _CrossEntropy.apply(logits, labels, count)
    return F.cross_entropy(logits.float(), labels, ignore_index=IGNORE_INDEX, reduction="sum") / count


class _CrossEntropy(torch.autograd.Function):
    """The same, some rows at a time: the table of logits is never written out in 32 bits, nor that of its logarithms.

    The gradient, softmax less one at the label, comes out of the same pass; it has the logits' number format.
    """

    @staticmethod
    def forward(ctx: Any, logits_NV: Tensor, labels_N: Tensor, count: Tensor | int) -> Tensor:
        weight_N1 = ((labels_N != IGNORE_INDEX) / count)[:, None]
        labels_N1 = labels_N.masked_fill(labels_N == IGNORE_INDEX, 0)[:, None]  # `gather` rejects other negative labels
        gradient_NV = torch.empty_like(logits_NV)
        loss = weight_N1.new_zeros(())
        rows = max(1, _AT_ONCE // logits_NV.shape[-1])
        parts = (part.split(rows) for part in (logits_NV, labels_N1, weight_N1, gradient_NV))
        for logits, label, weight, gradient in zip(*parts, strict=True):
            x = logits.to(weight.dtype, copy=True)
            maximum = x.amax(-1, keepdim=True)
            label_logit = x.gather(-1, label)
            total = x.sub_(maximum).exp_().sum(-1, keepdim=True)
            loss += ((total.log() + maximum - label_logit) * weight).sum()
            gradient.copy_(x.mul_(weight / total).scatter_add_(-1, label, -weight))
        ctx.save_for_backward(gradient_NV)
        return loss

    @staticmethod
    def backward(ctx: Any, scale: Tensor) -> tuple[Tensor, None, None]:
        (gradient_NV,) = ctx.saved_tensors
        return gradient_NV if scale == 1 else gradient_NV * scale.to(gradient_NV.dtype), None, None


def label_loss(logits: Tensor, labels: Tensor, problem_type: str | None = None) -> Tensor:
    """Return the loss by `problem_type`, as in transformers: logits (batch, C), labels (batch,) or (batch, C).

    "regression" is the mean squared error, "multi_label_classification" the binary cross-entropy of each label, 0 or 1,
    else it is cross-entropy. Where it is None, one class is regression, and labels (batch, C) are multi-label.
    """
    is_multi_label = labels.shape == logits.shape or labels.is_floating_point()
    inferred = "regression" if logits.shape[-1] == 1 else "multi_label_classification" if is_multi_label else ""
    kind = problem_type or inferred
    if kind not in ("regression", "multi_label_classification"):
        return cross_entropy(logits, labels)
    x = logits.squeeze(-1).float()
    labels = _in_shape(labels, logits, x.shape).float()
    return F.mse_loss(x, labels) if kind == "regression" else F.binary_cross_entropy_with_logits(x, labels)


def span_loss(start_logits: Tensor, end_logits: Tensor, starts: Tensor, ends: Tensor) -> Tensor:
    """Return the mean of start and end cross-entropies; positions beyond the text (-100, >= tokens) are left out."""
    length = start_logits.shape[-1]
    starts = starts.masked_fill(starts >= length, IGNORE_INDEX)
    ends = ends.masked_fill(ends >= length, IGNORE_INDEX)
    return (cross_entropy(start_logits, starts) + cross_entropy(end_logits, ends)) / 2


def _in_shape(labels: Tensor, logits: Tensor, shape: torch.Size) -> Tensor:
    """Return labels in the shape that is compared: torch would broadcast another one."""
    if labels.shape not in (shape, (*shape, 1)):
        raise ValueError(f"Labels {tuple(labels.shape)} do not fit logits {tuple(logits.shape)}: give {tuple(shape)}.")
    return labels.view(shape)


def soft_target_loss(student_NV: Tensor, teacher_NV: Tensor, temperature: float = 2.0) -> Tensor:
    """KL divergence of the softened distributions, summed over positions, times T^2 (Hinton et al. 2015, section 2.1).

    The factor keeps the gradients' size when the temperature changes.
    """
    own = F.log_softmax(student_NV.float() / temperature, dim=-1)
    theirs = F.log_softmax(teacher_NV.float() / temperature, dim=-1)
    return F.kl_div(own, theirs, reduction="sum", log_target=True) * temperature**2
