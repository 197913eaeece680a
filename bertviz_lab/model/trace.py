"""What one encoder layer computed on the way, as a value that is returned, never kept on a module."""

from dataclasses import dataclass

from torch import Tensor

#: Collects the fields of a layer's trace by name; None where no trace was asked for, and nothing is kept.
Stages = dict[str, Tensor] | None


@dataclass(frozen=True)
class LayerTrace:
    """Every stage of one encoder layer, in the order of computation; shapes as in the legend of `bertviz_lab.model`."""

    query_states: Tensor  # (B, H, L, K): what each token looks for
    key_states: Tensor  # (B, H, L, K): what each token is found by
    value_states: Tensor  # (B, H, L, K): what each token passes on
    attention_scores: Tensor  # (B, H, L, L): q k^T / sqrt(K), masked positions at the smallest number of the dtype
    attention_probs: Tensor  # (B, H, L, L): softmax of the scores; every row sums to 1
    context: Tensor  # (B, H, L, K): probs v, after the head mask
    attention_projection: Tensor  # (B, L, D): the heads' contexts, concatenated and projected
    attention_output: Tensor  # (B, L, D): LayerNorm(input + attention_projection)
    intermediate_output: Tensor  # (B, L, F): the feed-forward layer after its activation
    layer_output: Tensor  # (B, L, D): LayerNorm(attention_output + second feed-forward matrix)
