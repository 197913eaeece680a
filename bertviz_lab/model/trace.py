"""What one encoder layer computed on the way is a returned value, what replaces some of it an argument.

Neither is kept on a module.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor

#: Collects the fields of a layer's trace by name; None where no trace was asked for, and nothing is kept.
Stages = dict[str, Any] | None


@dataclass(frozen=True)
class LayerTrace:
    """Every stage of one encoder layer, in the order of computation; shapes as in the legend of `bertviz_lab.model`.

    In a pre-norm layer (ModernBERT) the two outputs are sums without LayerNorm: of the layer's input and
    `attention_projection`, and of `attention_output` and `feed_forward_projection`.
    """

    query_states: Tensor  # (B, H, L, K): what each token looks for; after rotary positions turned it
    key_states: Tensor  # (B, H, L, K): what each token is found by; likewise
    value_states: Tensor  # (B, H, L, K): what each token passes on
    #: (B, H, L, L): q k^T / sqrt(K) and what relative positions add; masked positions at the dtype's smallest number
    attention_scores: Tensor
    attention_probs: Tensor  # (B, H, L, L): softmax of the scores; every row sums to 1
    context: Tensor  # (B, H, L, K): probs v, after the head mask
    attention_projection: Tensor  # (B, L, D): the heads' contexts, concatenated and projected
    attention_output: Tensor  # (B, L, D): LayerNorm(input + attention_projection)
    intermediate_output: Tensor  # (B, L, F): the feed-forward layer after its activation
    feed_forward_projection: Tensor  # (B, L, D): the second feed-forward matrix of it
    layer_output: Tensor  # (B, L, D): LayerNorm(attention_output + feed_forward_projection)

    # Disentangled attention (DeBERTa) only, each (B, H, L, L): the terms whose sum is `attention_scores`, unmasked.
    content_to_content: Tensor | None = None
    content_to_position: Tensor | None = None
    position_to_content: Tensor | None = None

    relative_bias: Tensor | None = None  # (1, H, L, L): what MPNet adds to q k^T / sqrt(K)

    window: int | None = None  # of local attention (ModernBERT): half of it on either side; None where all is seen


#: The fields of a `LayerTrace` that can be replaced.
Patchable = Literal["value_states", "context", "attention_projection", "feed_forward_projection", "layer_output"]


class Patch(NamedTuple):
    """An activation of one layer to replace: activation patching (Vig et al. 2020; Meng et al. 2022, section 2)."""

    layer: int
    stage: Patchable
    where: Tensor  # boolean, broadcastable to the activation: True where it is replaced
    values: Tensor | Callable[[Tensor], Tensor]  # what replaces it, broadcastable too, or a function of the activation


def patched(stage: Patchable, x: Tensor, patches: Sequence[Patch]) -> Tensor:
    """Return an activation of a layer with what the layer's patches replace of it."""
    for patch in patches:
        if patch.stage == stage:
            values = patch.values if isinstance(patch.values, Tensor) else patch.values(x)
            x = torch.where(patch.where, values, x)
    return x
