"""The arithmetic that a training step cannot do without, and the most of it that the machine does in a second."""

from dataclasses import dataclass

import torch
from torch.utils.benchmark import Timer

from bertviz_lab.config import BertConfig


@dataclass(frozen=True)
class Shares:
    """What one token costs on average, in floating-point operations forward; a backward pass costs twice that."""

    layers: float  # all but the last, whole
    last_layer: float  # keys and values of all tokens, the rest where something is predicted, and at [CLS]
    decoder: float  # transform and vocabulary, where something is predicted
    pooler: float

    @property
    def forward(self) -> float:
        return self.layers + self.last_layer + self.decoder + self.pooler

    @property
    def training(self) -> float:
        """Forward, gradients of the inputs, gradients of the weights."""
        return 3 * self.forward


def useful_flops(config: BertConfig, length: float, predictions: float) -> Shares:
    """Operations a token, in examples of `length` tokens with `predictions` to be predicted in each.

    A product of (m, k) and (k, n) counts 2mkn. With hidden size H, vocabulary V, length S and feed-forward 4H:

    - embeddings: looked up, 0;
    - a layer: queries, keys, values, output 4 * 2H^2 = 8H^2; feed-forward 2 * 2 * 4H^2 = 16H^2;
      scores and their weighted sum 2 * 2SH = 4SH: together 24H^2 + 4SH for each token;
    - the last layer: keys and values 4H^2 for each token; the other 20H^2 + 4SH at the predicted positions and
      [CLS] only, because nothing else of it is ever read;
    - the decoder: 2H^2 + 2HV at predicted positions; the pooler 2H^2 once an example.

    LayerNorm, GELU, softmax, the optimiser and everything computed for positions that nobody reads count as 0.
    """
    h, v, inner = config.hidden_size, config.vocab_size, config.intermediate_size
    layer = 8 * h * h + 4 * h * inner + 4 * length * h
    asked = (predictions + 1) / length
    return Shares(
        layers=(config.num_hidden_layers - 1) * layer,
        last_layer=4 * h * h + asked * (layer - 4 * h * h),
        decoder=(predictions / length) * (2 * h * h + 2 * h * v),
        pooler=2 * h * h / length,
    )


def matmul_speed(
    rows: int, inner: int, columns: int, dtype: torch.dtype, device: torch.device, seconds: float = 0.3
) -> float:
    """Operations a second of (rows, inner) x (inner, columns), with nothing else to do."""
    x = torch.randn(rows, inner, device=device, dtype=dtype)
    w = torch.randn(columns, inner, device=device, dtype=dtype)
    names = {"linear": torch.nn.functional.linear, "x": x, "w": w}
    timer = Timer("linear(x, w)", globals=names, num_threads=torch.get_num_threads())
    with torch.inference_mode():
        return 2 * rows * inner * columns / timer.blocked_autorange(min_run_time=seconds).mean


def synchronize(device: torch.device) -> None:
    """Wait until a GPU has done what was asked of it."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
