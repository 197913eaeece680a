"""Relative bias (MPNet): each head learns a number for each distance, which is added to its scores.

Source: Song et al. 2020, "MPNet", section 3.1; Raffel et al. 2019, "T5", section 2.1, for the buckets.
"""

import math

import torch
from torch import Tensor, nn

from bertviz_lab.config import BertConfig
from bertviz_lab.model.layers import Embedding
from bertviz_lab.model.trace import Stages

_LONGEST = 128  # distances from here on share the last bucket of either side


class RelativeBias(nn.Module):
    """A number for each head and bucket of distances, once for all layers."""

    def __init__(self, config: BertConfig):
        super().__init__()
        self.table = Embedding(config.relative_attention_num_buckets, config.num_attention_heads)

    def forward(self, hidden_BLD: Tensor, position_ids: Tensor | None) -> Tensor:
        """Return (1, heads, tokens, tokens): what is added to the score of each query and key."""
        places = torch.arange(hidden_BLD.shape[1], device=hidden_BLD.device)
        buckets_LL = bucketed(places[None] - places[:, None], len(self.table.weight))
        return self.table(buckets_LL).permute(2, 0, 1)[None]


def bucketed(distances: Tensor, buckets: int) -> Tensor:
    """Return buckets, half of them for keys before the query; exact nearby, logarithmic beyond."""
    half = buckets // 2
    exact = half // 2
    lengths = distances.abs()
    logs = torch.log(lengths.float() / exact) / math.log(_LONGEST / exact) * (half - exact)
    far = (exact + logs.clamp(min=0).long()).clamp(max=half - 1)
    return torch.where(lengths < exact, lengths, far) + (distances > 0) * half


def add_bias(
    attention: nn.Module, q_BHQK: Tensor, k_BHLK: Tensor, bias_1HLL: Tensor, stages: Stages
) -> tuple[Tensor, Tensor, Tensor]:
    """Return one layer's queries and keys as they are, and the bias, which is added to the scores."""
    if stages is not None:
        stages["relative_bias"] = bias_1HLL
    return q_BHQK, k_BHLK, bias_1HLL
