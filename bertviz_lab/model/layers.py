"""The three kinds of parameters in BERT: a matrix with a bias, a table of vectors, a scale with a shift."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Linear(nn.Module):
    """y = x W^T + b, with W of shape (outputs, inputs)."""

    def __init__(self, inputs: int, outputs: int):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(outputs, inputs))
        self.bias = nn.Parameter(torch.empty(outputs))

    def forward(self, x: Tensor) -> Tensor:
        return F.linear(x, self.weight, self.bias)


class Embedding(nn.Module):
    """One learned vector for each of `entries` integers."""

    def __init__(self, entries: int, size: int):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(entries, size))

    def forward(self, ids: Tensor) -> Tensor:
        return F.embedding(ids, self.weight)


class LayerNorm(nn.Module):
    """Shift and scale each vector to mean 0 and variance 1, then by learned amounts (Ba et al. 2016)."""

    def __init__(self, size: int, eps: float):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(size))
        self.bias = nn.Parameter(torch.empty(size))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        return F.layer_norm(x, self.weight.shape, self.weight, self.bias, self.eps)


@torch.no_grad()
def initialize(model: nn.Module, std: float, generator: torch.Generator | None = None) -> None:
    """Start values as in google-research/bert: normal with deviation `std`, cut at two sigma; biases 0, scales 1.

    `torch.nn.init.trunc_normal_` cuts at absolute +-2 unless told otherwise, so the cut is given.
    """
    for module in model.modules():
        if isinstance(module, LayerNorm):
            nn.init.ones_(module.weight)
        elif isinstance(module, (Linear, Embedding)):
            nn.init.trunc_normal_(module.weight, std=std, a=-2 * std, b=2 * std, generator=generator)
        bias = getattr(module, "bias", None)
        if isinstance(bias, nn.Parameter):
            nn.init.zeros_(bias)


def activation(name: str, x: Tensor) -> Tensor:
    """The feed-forward nonlinearity: "gelu" is the exact erf form, "gelu_new" the tanh form of Google's code."""
    if name == "relu":
        return F.relu(x)
    return F.gelu(x, approximate="tanh" if name == "gelu_new" else "none")
