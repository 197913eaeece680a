"""Direct logit attribution through post-norm: a logit as the exact sum of what each component adds to it.

A residual stream is a sum, but BERT normalizes it twice a layer. With its mean and variance held at their own values,
LayerNorm is a linear map, and so is an activation function as a gate: gelu(x) = x · (gelu(x) / x). What each component
added can then be carried through all that follows at the position of the prediction. Sources: Elhage et al. 2021, "A
Mathematical Framework for Transformer Circuits"; for LayerNorm, Kobayashi et al. 2021, section 3.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from bertviz_lab.errors import InputError
from bertviz_lab.interpret.inputs import analysis, backbone
from bertviz_lab.interpret.targets import Target, head_logits, inputs_and_target, is_answer
from bertviz_lab.model import LayerTrace
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
    inputs, target = inputs_and_target(checkpoint, text_a, text_b, target)
    if target.reads_all:
        raise InputError("This classifier reads the mean of all tokens: only a head that reads one is decomposed.")
    model: Any = backbone(checkpoint)
    config, at = checkpoint.config, target.position
    out = model(**inputs.arguments(), output_trace=True)
    place = torch.tensor([at])
    stream = carry(checkpoint, inputs.input_ids, inputs.token_type_ids, out.trace, place, torch.double)
    kind, against = target.kind, target.against
    table_CD, bias_C = stream.through_head(checkpoint, "answer" if is_answer(kind) else kind)
    classes = [int(kind == "end") if is_answer(kind) else target.index, *([against.index] if against else [])]
    logits_NC = stream.logits(table_CD[classes], None if bias_C is None else bias_C[classes])
    values_N = logits_NC[:, 0] - (logits_NC[:, 1] if against else 0)
    biases, *parts = values_N.tolist()
    names = summed_embeddings(checkpoint)
    embeddings = dict(zip(names, parts, strict=False))
    by_layer = np.array(parts[len(names) :]).reshape(config.num_hidden_layers, config.num_attention_heads + 1)
    logits = head_logits(checkpoint.model, target.kind, target.read(out.last_hidden_state))[0]
    logit = logits[target.index] - (logits[target.against.index] if target.against else 0)
    return LogitDecomposition(
        inputs.encoding, target, float(logit), embeddings, by_layer[:, :-1], by_layer[:, -1], biases
    )


def summed_embeddings(checkpoint: Checkpoint) -> list[str]:
    """Return the names of the embeddings that are summed, in the order of `Embeddings.summands`."""
    tables = backbone(checkpoint).embeddings
    summed = {"token": tables.word, "position": tables.position, "segment": tables.token_type}
    return [name for name, table in summed.items() if table is not None]


def carry(
    checkpoint: Checkpoint,
    ids_1L: Tensor,
    types_1L: Tensor,
    traces: Sequence[LayerTrace],
    position_1: Tensor,
    dtype: torch.dtype,
) -> "Parts":
    """Return the final state at a position as the sum of the parts that embeddings, heads and layers add to it.

    `traces` are those of all layers, of a batch whose first text is the one with these ids. The first part has all
    biases, then come the embeddings and, of each layer, its heads and its feed-forward network.
    """
    model: Any = backbone(checkpoint)
    is_prenorm = checkpoint.config.is_prenorm
    # Table by table; positions and segments may have one row for all tokens.
    summands = [table for table in model.embeddings.summands(ids_1L, types_1L) if table is not None]
    rows_ND = torch.cat([table.expand(1, ids_1L.shape[1], -1).index_select(1, position_1)[0] for table in summands])
    stream = Parts(torch.cat([torch.zeros_like(rows_ND[:1]), rows_ND]).to(dtype))
    stream.norm(model.embeddings.norm)
    if model.embeddings.projection is not None:
        stream.linear(model.embeddings.projection)
    for layer, trace in zip(model.encoder.layers, traces, strict=True):
        stream.add(trace.context[0].index_select(1, position_1)[:, 0], layer.attention.output)
        if not is_prenorm:
            stream.norm(layer.attention_norm)
        stream.add(trace.intermediate_output[0].index_select(0, position_1), layer.output)
        if not is_prenorm:
            stream.norm(layer.output_norm)
    if model.final_norm is not None:
        stream.norm(model.final_norm)
    return stream


class Parts:
    """A vector as a sum of parts: `rows_ND` (parts, hidden), of which the first collects biases.

    Every method carries the parts through one step of the model, linear at the value that their sum has, in the
    precision of the rows.
    """

    def __init__(self, rows_ND: Tensor) -> None:
        self.rows_ND = rows_ND

    def _with_bias(self, rows_ND: Tensor, bias_D: Tensor | None) -> Tensor:
        return rows_ND if bias_D is None else torch.cat([rows_ND[:1] + bias_D.to(rows_ND), rows_ND[1:]])

    def linear(self, layer: nn.Linear) -> None:
        self.rows_ND = self.logits(layer.weight, layer.bias)

    def logits(self, table_CD: Tensor, bias_C: Tensor | None) -> Tensor:
        """Return what each part adds to some linear outputs, (parts, outputs)."""
        none = torch.zeros(len(table_CD)).to(self.rows_ND)  # with a bias a graph for browsers can share the matrix
        return self._with_bias(F.linear(self.rows_ND, table_CD.to(self.rows_ND), none), bias_C)

    def norm(self, layer: nn.LayerNorm) -> None:
        """LayerNorm with its standard deviation held: (x - mean(x)) / sigma is linear in x."""
        sigma = (self.rows_ND.sum(0).var(correction=0) + layer.eps).sqrt()
        centered_ND = self.rows_ND - self.rows_ND.mean(-1, keepdim=True)
        self.rows_ND = self._with_bias(centered_ND / sigma * layer.weight.to(self.rows_ND), layer.bias)

    def activate(self, name: str) -> None:
        """An activation function as a gate held at its value."""
        x_D = self.rows_ND.sum(0)
        activated_D = ACTIVATION_FUNCTIONS[name](x_D)
        gate_D = torch.where(x_D == 0, 0.0, activated_D / x_D)
        self.rows_ND = self._with_bias(self.rows_ND * gate_D, activated_D - gate_D * x_D)  # 0 but where x is

    def add(self, vectors_NK: Tensor, output: nn.Linear) -> None:
        """Add a part for each vector, heads or all of a feed-forward layer: through its columns of the matrix."""
        apart_NNK = torch.eye(len(vectors_NK)).to(self.rows_ND)[..., None] * vectors_NK.to(self.rows_ND)
        added_ND = apart_NNK.flatten(1) @ output.weight.to(self.rows_ND).T
        self.rows_ND = self._with_bias(torch.cat([self.rows_ND, added_ND]), output.bias)

    def through_head(self, checkpoint: Checkpoint, kind: str) -> tuple[Tensor, Tensor | None]:
        """Carry the parts through a head, "answer" for both of an answer's, but for its last linear layer.

        Returns that one's weights, (classes, hidden), and biases.
        """
        model: Any = checkpoint.model
        if kind == "token":
            self._dense(model.mlm.transform, model.mlm.activation, model.mlm.norm)
            return model.bert.embeddings.word.weight, model.mlm.bias
        if kind in ("next", "label"):
            bert = model.bert
            self._dense(bert.pooler, checkpoint.config.pooler_act, bert.pooler_norm)
        elif not isinstance(model.transform, nn.Identity):
            self._dense(model.transform.dense, model.transform.activation, model.transform.norm)
        last = getattr(model, {"next": "nsp", "answer": "answer"}.get(kind, "classifier"))
        return last.weight, last.bias

    def _dense(self, dense: nn.Linear, activation: str, norm: nn.LayerNorm | None) -> None:
        self.linear(dense)
        self.activate(activation)
        if norm is not None:
            self.norm(norm)
