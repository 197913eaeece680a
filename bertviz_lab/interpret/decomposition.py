"""Direct logit attribution through post-norm: a logit as the exact sum of what each component adds to it.

A residual stream is a sum, but BERT normalizes it twice a layer. With its mean and variance held at their own values,
LayerNorm is a linear map, and so is an activation function as a gate: gelu(x) = x · (gelu(x) / x). What each component
added can then be carried through all that follows at the position of the prediction. Sources: Elhage et al. 2021, "A
Mathematical Framework for Transformer Circuits"; for LayerNorm, Kobayashi et al. 2021, section 3.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from bertviz_lab.errors import InputError
from bertviz_lab.interpret.inputs import analysis, backbone, encode_inputs
from bertviz_lab.interpret.targets import Target, check_target, choose_target, head_logits
from bertviz_lab.model.layers import ACTIVATION_FUNCTIONS
from bertviz_lab.tokenization import Encoding
from bertviz_lab.training.checkpoints.checkpoint import Checkpoint


@dataclass(frozen=True, eq=False)
class LogitDecomposition:
    """A logit, or with a contrast the difference of two, as a sum over components.

    `embeddings` are those of token, position and segment; all biases of the model are in `biases`. Everything sums to
    `logit` up to rounding.
    """

    encoding: Encoding
    target: Target
    logit: float  # as the model computes it
    embeddings: dict[str, float]
    heads: NDArray[np.float64]  # (layers, heads)
    feed_forward: NDArray[np.float64]  # (layers,)
    biases: float

    @property
    def total(self) -> float:
        """The sum of all components."""
        return sum(self.embeddings.values()) + float(self.heads.sum() + self.feed_forward.sum()) + self.biases


@analysis
def decompose_logit(
    checkpoint: Checkpoint, text_a: str, text_b: str | None = None, *, target: Target | None = None
) -> LogitDecomposition:
    """Return what each component adds directly to the logit of a prediction; `target.against` is subtracted.

    By default the prediction is the most probable token of the first [MASK]. Only the position that the head reads has
    direct contributions; what tokens contribute through earlier layers is counted where a head reads it. Raises
    `InputError` as `choose_target` does, and for a classifier that reads the mean of all tokens.
    """
    inputs = encode_inputs(checkpoint, text_a, text_b)
    target = check_target(checkpoint, inputs, target) if target else choose_target(checkpoint, inputs)
    if target.reads_all:
        raise InputError("This classifier reads the mean of all tokens: only a head that reads one is decomposed.")
    model: Any = backbone(checkpoint)
    config, at = checkpoint.config, target.position
    out = model(**inputs.arguments(), output_trace=True)
    summands = model.embeddings.summands(inputs.input_ids, inputs.token_type_ids)
    names = [n for n, table in zip(("token", "position", "segment"), summands, strict=True) if table is not None]
    # Table by table; positions and segments are the same for each batch, and may have one row for all tokens.
    rows = [table.expand(1, len(inputs.encoding), -1)[0, at] for table in summands if table is not None]
    stream = _Parts(torch.stack([torch.zeros_like(rows[0]), *rows]))  # the first row collects biases
    stream.norm(model.embeddings.norm)
    if model.embeddings.projection is not None:
        stream.linear(model.embeddings.projection)
    for layer, trace in zip(model.encoder.layers, out.trace, strict=True):
        stream.add(trace.context[0, :, at], layer.attention.output)
        if not config.is_prenorm:
            stream.norm(layer.attention_norm)
        stream.add(trace.intermediate_output[0, at][None], layer.output)
        if not config.is_prenorm:
            stream.norm(layer.output_norm)
    if model.final_norm is not None:
        stream.norm(model.final_norm)
    stream.through_head(checkpoint, target)
    biases, *parts = stream.rows_ND[:, 0].tolist()
    embeddings = dict(zip(names, parts, strict=False))
    by_layer = np.array(parts[len(names) :]).reshape(config.num_hidden_layers, config.num_attention_heads + 1)
    final = out.last_hidden_state if target.read_position is None else out.last_hidden_state[:, at]
    logits = head_logits(checkpoint.model, target.kind, final)[0]
    logit = logits[target.index] - (logits[target.against.index] if target.against else 0)
    return LogitDecomposition(
        inputs.encoding, target, float(logit), embeddings, by_layer[:, :-1], by_layer[:, -1], biases
    )


class _Parts:
    """A vector as a sum of parts: `rows_ND` (parts, hidden), of which the first collects biases.

    Every method carries the parts through one step of the model, linear at the value that their sum has.
    """

    def __init__(self, rows_ND: Tensor) -> None:
        self.rows_ND = rows_ND.double()

    def _map(self, rows_ND: Tensor, bias_D: Tensor | None) -> None:
        self.rows_ND = rows_ND
        if bias_D is not None:
            self.rows_ND[0] += bias_D.double()

    def linear(self, layer: nn.Linear) -> None:
        self._map(self.rows_ND @ layer.weight.double().T, layer.bias)

    def norm(self, layer: nn.LayerNorm) -> None:
        """LayerNorm with its standard deviation held: (x - mean(x)) / sigma is linear in x."""
        sigma = (self.rows_ND.sum(0).var(correction=0) + layer.eps).sqrt()
        centered_ND = self.rows_ND - self.rows_ND.mean(-1, keepdim=True)
        self._map(centered_ND / sigma * layer.weight.double(), layer.bias)

    def activate(self, name: str) -> None:
        """An activation function as a gate held at its value."""
        x_D = self.rows_ND.sum(0)
        activated_D = ACTIVATION_FUNCTIONS[name](x_D)
        gate_D = torch.where(x_D == 0, 0.0, activated_D / x_D)
        self._map(self.rows_ND * gate_D, activated_D - gate_D * x_D)  # 0 but where x is

    def add(self, vectors_NK: Tensor, output: nn.Linear) -> None:
        """Add a part for each vector, heads or all of a feed-forward layer: through its columns of the matrix."""
        matrix_DNK = output.weight.double().unflatten(1, vectors_NK.shape)
        added_ND = torch.einsum("nk,dnk->nd", vectors_NK.double(), matrix_DNK)
        self._map(torch.cat([self.rows_ND, added_ND]), output.bias)

    def through_head(self, checkpoint: Checkpoint, target: Target) -> None:
        """Carry the parts through the head of a prediction to its logit, or the difference of two: (parts, 1)."""
        model: Any = checkpoint.model
        kind = target.kind
        if kind == "token":
            self._dense(model.mlm.transform, model.mlm.activation, model.mlm.norm)
            table_VD, bias_V = model.bert.embeddings.word.weight, model.mlm.bias
        else:
            if kind in ("next", "label"):
                bert = model.bert
                self._dense(bert.pooler, checkpoint.config.pooler_act, bert.pooler_norm)
            elif not isinstance(model.transform, nn.Identity):
                self._dense(model.transform.dense, model.transform.activation, model.transform.norm)
            last = {"next": "nsp", "label": "classifier", "word": "classifier"}.get(kind, "answer")
            table_VD, bias_V = getattr(model, last).weight, getattr(model, last).bias
        index = int(kind == "end") if kind in ("start", "end") else target.index
        direction_D = table_VD[index].double()
        bias = torch.zeros(1) if bias_V is None else bias_V[index][None]
        if target.against:
            direction_D = direction_D - table_VD[target.against.index].double()
            bias = bias if bias_V is None else bias - bias_V[target.against.index]
        self._map((self.rows_ND @ direction_D)[:, None], bias)

    def _dense(self, dense: nn.Linear, activation: str, norm: nn.LayerNorm | None) -> None:
        self.linear(dense)
        self.activate(activation)
        if norm is not None:
            self.norm(norm)
