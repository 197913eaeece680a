"""Muon (Jordan et al. 2024): momentum, with each matrix's update replaced by the nearest orthogonal matrix."""

import math

import torch
from torch import Tensor

from bertviz_lab.training.loop.hardware import cpu_multiplies_bf16


class Muon(torch.optim.Muon):
    """PyTorch's Muon, with its state and settings, whose matrix products are in fp32 where bf16 is slow.

    PyTorch's are in bf16 everywhere. Processors without instructions for it take 20 to 50 times as long as in fp32
    (one thread of an AMD EPYC with AVX2, matrices of 128 to 512 rows), which made a step of a tiny model 7 times as
    long. The learning rate is adjusted to the size of AdamW's updates (`match_rms_adamw`, Liu et al. 2025).
    """

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """Update the matrices that have a gradient; on a GPU those of one shape together, in a few large kernels."""
        for group in self.param_groups:
            trained = [matrix for matrix in group["params"] if matrix.grad is not None]
            updates = [self._update(matrix, group["momentum"]) for matrix in trained]
            settings = (group["ns_steps"], group["ns_coefficients"], group["eps"])
            stacked = bool(trained) and trained[0].is_cuda and not hasattr(trained[0], "full_tensor")  # of a DTensor
            for places in _by_shape(updates) if stacked else [[place] for place in range(len(updates))]:
                if len(places) == 1:
                    found = [orthogonalized(updates[places[0]], *settings)]
                else:
                    found = list(orthogonalized(torch.stack([updates[place] for place in places]), *settings))
                for place, update in zip(places, found, strict=True):
                    matrix = trained[place]
                    matrix.mul_(1 - group["lr"] * group["weight_decay"])
                    matrix.add_(update, alpha=-0.2 * group["lr"] * math.sqrt(max(matrix.shape)))

    def _update(self, matrix: Tensor, momentum: float) -> Tensor:
        """Return the direction of a matrix before it is made orthogonal, by Nesterov's momentum."""
        gradient, state = matrix.grad, self.state[matrix]
        assert gradient is not None
        if not state:
            state["momentum_buffer"] = torch.zeros_like(gradient)
        return gradient.lerp(state["momentum_buffer"].lerp_(gradient, 1 - momentum), momentum)


def _by_shape(tensors: list[Tensor]) -> list[list[int]]:
    """The places of the tensors of each shape."""
    places: dict[torch.Size, list[int]] = {}
    for place, tensor in enumerate(tensors):
        places.setdefault(tensor.shape, []).append(place)
    return [*places.values()]


def orthogonalized(update: Tensor, iterations: int, coefficients: tuple[float, float, float], eps: float) -> Tensor:
    """Return a matrix (..., rows, columns) with its singular values moved toward 1, by Newton-Schulz iterations.

    Each iteration maps a singular value s to a s + b s^3 + c s^5 with the `coefficients` a, b, c.
    """
    slow = update.device.type == "cpu" and not cpu_multiplies_bf16()
    a, b, c = coefficients
    x = update.to(torch.float32 if slow else torch.bfloat16)
    is_tall = x.shape[-2] > x.shape[-1]
    x = x.mT if is_tall else x
    x = x / torch.linalg.matrix_norm(x, keepdim=True).clamp(min=eps)  # no singular value is above 1
    add_product = torch.addmm if x.dim() == 2 else torch.baddbmm
    for _ in range(iterations):
        gram = x @ x.mT
        x = add_product(x, add_product(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.mT if is_tall else x
