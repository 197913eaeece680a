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
        """Update the matrices that have a gradient."""
        for group in self.param_groups:
            for matrix in group["params"]:
                if matrix.grad is None:
                    continue
                state = self.state[matrix]
                if not state:
                    state["momentum_buffer"] = torch.zeros_like(matrix.grad)
                momentum = state["momentum_buffer"].lerp_(matrix.grad, 1 - group["momentum"])
                update = matrix.grad.lerp(momentum, group["momentum"])  # Nesterov's
                update = orthogonalized(update, group["ns_steps"], group["ns_coefficients"], group["eps"])
                matrix.mul_(1 - group["lr"] * group["weight_decay"])
                matrix.add_(update, alpha=-0.2 * group["lr"] * math.sqrt(max(matrix.shape)))


def orthogonalized(update: Tensor, iterations: int, coefficients: tuple[float, float, float], eps: float) -> Tensor:
    """Return a matrix (rows, columns) with its singular values moved toward 1, by Newton-Schulz iterations.

    Each iteration maps a singular value s to a s + b s^3 + c s^5 with the `coefficients` a, b, c.
    """
    slow = update.device.type == "cpu" and not cpu_multiplies_bf16()
    a, b, c = coefficients
    x = update.to(torch.float32 if slow else torch.bfloat16)
    is_tall = x.shape[0] > x.shape[1]
    x = x.T if is_tall else x
    x = x / x.norm().clamp(min=eps)  # no singular value is above 1
    for _ in range(iterations):
        gram = x @ x.T
        x = torch.addmm(x, torch.addmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.T if is_tall else x
