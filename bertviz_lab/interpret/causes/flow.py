"""Information flow: how much each token contributes to each other one in every layer, by four methods, and in all.

Attention weights leave out the value vectors, the residual connection, LayerNorm and the feed-forward network. Value
zeroing measures all of them (Mohebbi et al. 2023); the two decompositions leave the feed-forward network out.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Literal

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from bertviz_lab.interpret.attention import TextTrace, trace_text
from bertviz_lab.interpret.inputs import OnProgress, analysis, backbone, check_passes, nothing, variants_per_batch
from bertviz_lab.model import Patch
from bertviz_lab.model.attention import extended_attention_mask
from bertviz_lab.tokenization import Encoding
from bertviz_lab.training.checkpoints.checkpoint import Checkpoint

FlowMethod = Literal["attention", "value zeroing", "norm", "ALTI"]
FLOW_METHODS: tuple[FlowMethod, ...] = ("attention", "value zeroing", "norm", "ALTI")


@dataclass(frozen=True, eq=False)
class InformationFlow:
    """Contributions from token to token: (layers, tokens, tokens) each, rows receive, columns give; rows sum to 1."""

    encoding: Encoding
    contributions: Mapping[FlowMethod, NDArray[np.float64]]  # within each layer; of attention the mean of all heads

    def flow(self, method: FlowMethod) -> NDArray[np.float64]:
        """Return each input token's share in each position after each layer, (layers, tokens, tokens).

        Contributions of successive layers are multiplied (Abnar and Zuidema 2020).
        """
        return np.stack([*accumulate(self._mixing(method), lambda flow, layer: layer @ flow)])

    def paths(self, method: FlowMethod, position: int) -> NDArray[np.float64]:
        """Return how much of a position's final state takes each edge, (layers, tokens, tokens).

        Rows receive, columns give, as in `contributions`; the edges of a layer sum to 1.
        """
        layers = self._mixing(method)
        reaches = np.eye(layers.shape[-1])[position]  # the share of each token's state that reaches the position
        edges = np.empty_like(layers)
        for layer in reversed(range(len(layers))):
            edges[layer] = reaches[:, None] * layers[layer]
            reaches = edges[layer].sum(0)
        return edges

    def _mixing(self, method: FlowMethod) -> NDArray[np.float64]:
        """Return the contributions with the residual connection, which attention alone does not measure: half of it."""
        layers = self.contributions[method]
        return (layers + np.eye(layers.shape[-1])) / 2 if method == "attention" else layers


@analysis
def information_flow(
    checkpoint: Checkpoint, text_a: str, text_b: str | None = None, *, on_progress: OnProgress = nothing
) -> InformationFlow:
    """Return the contributions from token to token in every layer, by each of `FLOW_METHODS`.

    - attention: the weights, mean of all heads.
    - value zeroing: the cosine distance of a token's output when another's value vector is zero in this layer
      (Mohebbi et al. 2023, section 3).
    - norm: the norm of the vector that a token adds to another, through all heads, residual connection and LayerNorm
      (Kobayashi et al. 2021, section 3).
    - ALTI: how near that vector comes to the whole output, in the L1 norm (Ferrando et al. 2022, section 3).

    `on_progress` is called with the share that is done. Raises `InputError` without a text, and for more than a
    question may take.
    """
    trace = trace_text(checkpoint, text_a, text_b)
    layers, length = checkpoint.config.num_hidden_layers, len(trace.encoding)
    check_passes(checkpoint, length, length, "Value zeroing")
    contributions: dict[FlowMethod, list[NDArray[np.float64]]] = {method: [] for method in FLOW_METHODS}
    for layer in range(layers):
        contributions["attention"].append(trace.attentions[layer].astype(np.float64).mean(0))
        contributions["value zeroing"].append(_value_zeroing(checkpoint, trace, layer))
        norms, nearness = _decomposed(checkpoint, trace, layer)
        contributions["norm"].append(norms)
        contributions["ALTI"].append(nearness)
        on_progress((layer + 1) / layers)
    return InformationFlow(trace.encoding, {method: np.stack(rows) for method, rows in contributions.items()})


def _shares(rows: Tensor) -> NDArray[np.float64]:
    """Return rows that sum to 1; one without any contribution is of the token itself."""
    sums = rows.double().sum(-1, keepdim=True)
    return torch.where(sums > 0, rows / sums, torch.eye(len(rows))).numpy()


def _value_zeroing(checkpoint: Checkpoint, trace: TextTrace, layer: int) -> NDArray[np.float64]:
    """Return the contributions of one layer by value zeroing, (tokens, tokens): a pass through it for each token."""
    model = backbone(checkpoint)
    dtype = model.embeddings.word.weight.dtype
    hidden_1LD = torch.tensor(trace.hidden_states[layer], dtype=dtype)[None]
    mask = torch.tensor([trace.encoding.attention_mask])
    length = hidden_1LD.shape[1]
    attn_mask = extended_attention_mask(mask, length, checkpoint.config.is_decoder, hidden_1LD.device)
    whole_1LD = trace.layers[layer].layer_output
    columns = []
    for tokens in torch.arange(length).split(variants_per_batch(length)):
        where_B1L1 = (tokens[:, None] == torch.arange(length))[:, None, :, None]
        patch = Patch(layer, "value_states", where_B1L1, torch.zeros((), dtype=dtype))
        hidden_BLD = hidden_1LD.expand(len(tokens), -1, -1)
        zeroed_BLD, _ = next(model.encoder(hidden_BLD, attn_mask, start_layer=layer, patches=[patch]))
        columns.append(1 - F.cosine_similarity(zeroed_BLD.double(), whole_1LD.double(), dim=-1))
    return _shares(torch.cat(columns).T.clamp(min=0))


def _decomposed(
    checkpoint: Checkpoint, trace: TextTrace, layer: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the contributions of one layer's attention block by norms and by ALTI, (tokens, tokens) each.

    The block's output at i is the sum over j of T_i(x_j), and biases. T_i(x_j) is what the heads bring from j to i, and
    the residual connection where i = j, through LayerNorm, which is linear at its own variance.
    """
    module: Any = backbone(checkpoint).encoder.layers[layer]
    of_layer, hidden_LD = trace.layers[layer], torch.tensor(trace.hidden_states[layer]).double()
    matrix_DHK = module.attention.output.weight.double().unflatten(1, (module.attention.heads, -1))
    values_HLD = torch.einsum("hlk,dhk->hld", of_layer.value_states[0].double(), matrix_DHK)
    norms, nearness = [], []
    for at, probs_HL in enumerate(of_layer.attention_probs[0].double().unbind(1)):
        vectors_LD = torch.einsum("hl,hld->ld", probs_HL, values_HLD)
        vectors_LD[at] += hidden_LD[at]
        output_D = of_layer.attention_output[0, at].double()
        if not module.is_prenorm:
            sigma = (hidden_LD[at] + of_layer.attention_projection[0, at].double()).std(correction=0)
            vectors_LD = vectors_LD - vectors_LD.mean(-1, keepdim=True)
            vectors_LD = vectors_LD / sigma * module.attention_norm.weight.double()
        norms.append(vectors_LD.norm(dim=-1))
        nearness.append((output_D.norm(p=1) - (output_D - vectors_LD).norm(p=1, dim=-1)).clamp(min=0))
    return _shares(torch.stack(norms)), _shares(torch.stack(nearness))
