"""The three kinds of parameters in BERT: a matrix with a bias, a table of vectors, a scale with a shift; and dropout.

They subclass torch's own, so that PEFT and torchao recognise them. The forward pass is written out, and construction
draws no random numbers (`initialize` does, from the generator that it is given).
"""

import math
from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Linear(nn.Linear):
    """y = x W^T + b, with W of shape (out_features, in_features)."""

    def reset_parameters(self) -> None: ...

    def forward(self, x: Tensor) -> Tensor:
        return F.linear(x, self.weight, self.bias)


class Embedding(nn.Embedding):
    """One learned vector of `embedding_dim` numbers for each of `num_embeddings` ids."""

    def reset_parameters(self) -> None: ...

    def forward(self, ids: Tensor) -> Tensor:
        return F.embedding(ids, self.weight)


class LayerNorm(nn.LayerNorm):
    """Shift and scale each vector to mean 0 and variance 1, then by learned amounts (Ba et al. 2016)."""

    def forward(self, x: Tensor) -> Tensor:
        return F.layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps)


def dropout(x: Tensor, rate: float, training: bool = True) -> Tensor:
    """Zero each number with probability `rate` in training, and scale up the others (Srivastava et al. 2014).

    On a CPU torch draws a random number for each element, which takes five times as long. Here four elements share the
    64 bits of one, and the rate is rounded down to a multiple of 2^-16. Compiled code has torch's, which it fuses.
    """
    if not training or not rate or x.device.type != "cpu" or torch.compiler.is_compiling():
        return F.dropout(x, rate, training)
    draws = torch.empty(-(-x.numel() // 4), dtype=torch.int64).random_(-(2**63), None)  # from all 64-bit integers
    uniform = draws.view(torch.int16)[: x.numel()].view(x.shape)
    dropped = int(rate * 2**16)  # of 2^16 values, the smallest of which is -2^15
    kept = uniform.ge_(dropped - 2**15)  # 0 or 1; torch converts integers much faster than booleans
    return x * kept.to(x.dtype).mul_(2**16 / (2**16 - dropped))


@torch.no_grad()
def initialize(model: nn.Module, std: float, generator: torch.Generator | None = None) -> None:
    """Initialize as in google-research/bert: normal with deviation `std`, cut at two sigma; biases 0, scales 1."""
    for module in model.modules():
        if isinstance(module, LayerNorm):
            nn.init.ones_(module.weight)
        elif isinstance(module, (Linear, Embedding)):
            truncated_normal_(module.weight, std, generator)
        bias = getattr(module, "bias", None)
        if isinstance(bias, nn.Parameter):
            nn.init.zeros_(bias)


def truncated_normal_(x: Tensor, std: float, generator: torch.Generator | None = None) -> None:
    """Fill `x` with draws from a normal distribution cut at two sigma, by the inverse of its distribution function.

    A tenth of the time of `torch.nn.init.trunc_normal_`, which draws the whole tensor again until nothing is cut.
    """
    if x.is_meta:  # nothing to fill, and meta kernels are slow
        return
    share = math.erf(2 / math.sqrt(2))  # within two sigma
    x.uniform_(-share, share, generator=generator).erfinv_().mul_(math.sqrt(2) * std).clamp_(-2 * std, 2 * std)


_GELU_TANH = partial(F.gelu, approximate="tanh")

#: `hidden_act` of a configuration -> the function, by the names of transformers' ACT2FN. "gelu" is the exact erf form,
#: "gelu_new" and its other spellings the tanh form of Google's code.
ACTIVATION_FUNCTIONS: dict[str, Callable[[Tensor], Tensor]] = {
    **{"gelu": F.gelu, "gelu_new": _GELU_TANH, "relu": F.relu, "gelu_python": F.gelu, "gelu_fast": _GELU_TANH},
    **dict.fromkeys(("gelu_accurate", "gelu_python_tanh", "gelu_pytorch_tanh"), _GELU_TANH),
    **{"quick_gelu": lambda x: x * torch.sigmoid(1.702 * x), "gelu_10": lambda x: F.gelu(x).clamp(-10, 10)},
    **{"silu": F.silu, "swish": F.silu, "mish": F.mish, "hardswish": F.hardswish, "leaky_relu": F.leaky_relu},
    **{"relu6": F.relu6, "relu2": lambda x: F.relu(x).square(), "sigmoid": F.sigmoid, "tanh": F.tanh},
}
