"""Disentangled attention (DeBERTa): content and relative position are vectors apart, and scores have three terms.

    score(i, j) = (content_i . content_j + content_i . position_{i-j} + position_{j-i} . content_j) / sqrt(3 K)

Source: He et al. 2020, "DeBERTa", section 3.1; distances in buckets: version 2 of its code, as in He et al. 2021.
"""

import math
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from bertviz_lab.config import BertConfig
from bertviz_lab.model.layers import Embedding, LayerNorm, Linear
from bertviz_lab.model.trace import Stages


class Distances(NamedTuple):
    """What all layers share: the vectors of relative positions, and which of them is that of each pair of tokens."""

    vectors_SD: Tensor  # (2 x span, hidden)
    rows_LL: Tensor  # (tokens, tokens): the row of the distance from query i to key j


class RelativePositions(nn.Module):
    """A table of vectors of distances, once for all layers."""

    def __init__(self, config: BertConfig):
        super().__init__()
        self.buckets, self.longest = config.position_buckets, config.max_relative_positions
        self.span = self.buckets or self.longest
        self.table = Embedding(2 * self.span, config.hidden_size)
        self.norm = LayerNorm(config.hidden_size, config.layer_norm_eps) if config.norm_rel_ebd else None

    def forward(self, hidden_BLD: Tensor, position_ids: Tensor | None) -> Distances:
        vectors_SD = self.table.weight if self.norm is None else self.norm(self.table.weight)
        places = torch.arange(hidden_BLD.shape[1], device=hidden_BLD.device)
        distances_LL = places[:, None] - places[None]
        if self.buckets:
            distances_LL = bucketed(distances_LL, self.buckets, self.longest)
        return Distances(vectors_SD, (distances_LL + self.span).clamp(0, 2 * self.span - 1))


def bucketed(distances: Tensor, buckets: int, longest: int) -> Tensor:
    """Return distances as they are up to half of the buckets, beyond that in buckets of logarithmic width."""
    middle = buckets // 2
    is_near = (distances < middle) & (distances > -middle)
    far = torch.where(is_near, torch.full_like(distances, middle - 1), distances.abs())
    largest = torch.log(torch.tensor((longest - 1) / middle, device=distances.device))  # in 32 bits, as it was trained
    logs = torch.log(far / middle) / largest * (middle - 1)
    far_buckets = torch.ceil(logs) + middle
    return torch.where(far <= middle, distances.to(far_buckets.dtype), far_buckets * distances.sign()).long()


class DisentangledAttention(nn.Module):
    """What relative positions add to the scores of one layer."""

    def __init__(self, config: BertConfig):
        super().__init__()
        size, shared = config.hidden_size, config.share_att_key
        self.kinds = config.pos_att_type
        self.key = Linear(size, size) if "c2p" in self.kinds and not shared else None
        self.query = Linear(size, size) if "p2c" in self.kinds and not shared else None

    def forward(
        self, attention: Any, q_BHQK: Tensor, k_BHLK: Tensor, distances: Distances, stages: Stages
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return queries over sqrt(terms), so that attention divides by sqrt(terms x K); keys; and what is added."""
        vectors, rows_LL = distances.vectors_SD, distances.rows_LL
        q_BHQK = q_BHQK / math.sqrt(1 + len(self.kinds))
        scale = math.sqrt(q_BHQK.shape[-1])
        heads = q_BHQK.shape[:2]
        terms = {}
        if "c2p" in self.kinds:
            position_k_HSK = _split(vectors, self.key or attention.key, heads[1])
            all_rows_BHLS = q_BHQK @ position_k_HSK.transpose(-1, -2)
            terms["content_to_position"] = all_rows_BHLS.gather(-1, rows_LL.expand(*heads, -1, -1)) / scale
        if "p2c" in self.kinds:
            position_q_HSK = _split(vectors, self.query or attention.query, heads[1])
            all_rows_BHLS = k_BHLK @ position_q_HSK.transpose(-1, -2) / math.sqrt(1 + len(self.kinds))
            terms["position_to_content"] = all_rows_BHLS.gather(-1, rows_LL.mT.expand(*heads, -1, -1)).mT / scale
        if stages is not None:
            stages.update(terms, content_to_content=(q_BHQK / scale) @ k_BHLK.mT)
        return q_BHQK, k_BHLK, torch.stack(list(terms.values())).sum(0)


def _split(vectors_SD: Tensor, matrix: nn.Module, heads: int) -> Tensor:
    """Return the vectors of distances through a matrix, cut into heads: (heads, 2 x span, head size)."""
    return matrix(vectors_SD).unflatten(-1, (heads, -1)).transpose(0, 1)


def mask_padding(first_BLD: Tensor, attention_mask: Tensor | None) -> tuple[Tensor, Tensor | None]:
    """Set padding to zero and mask its queries: (batch, queries, keys) from a (batch, keys) mask."""
    if attention_mask is None or attention_mask.dim() != 2:
        return first_BLD, attention_mask
    return first_BLD * attention_mask[..., None].to(first_BLD.dtype), attention_mask[:, :, None] * attention_mask[
        :, None
    ]
