"""Rotary positions (ModernBERT): queries and keys are turned by an angle that grows with their position.

The product of a query at i and a key at j then depends on i - j alone, and nothing is added to the input.
Source: Su et al. 2021, "RoFormer", section 3.2.2; the two bases of ModernBERT: Warner et al. 2024, section 2.1.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from bertviz_lab.config import BertConfig
from bertviz_lab.model.trace import Stages


class Angles(NamedTuple):
    """cos and sin of every position's angles, (1 or batch, 1, tokens, head size), in layers of either kind."""

    full: tuple[Tensor, Tensor]
    local: tuple[Tensor, Tensor]


class RotaryAngles(nn.Module):
    """The angles of a text's positions, once for all layers: position x base^(-2i / K) for the i-th pair of numbers."""

    def __init__(self, config: BertConfig):
        super().__init__()
        self.head_size = config.head_size
        self.bases = (config.rope_theta, config.local_rope_theta)

    def forward(self, hidden_BLD: Tensor, position_ids: Tensor | None) -> Angles:
        if position_ids is None:
            position_ids = torch.arange(hidden_BLD.shape[1], device=hidden_BLD.device)[None]
        return Angles(*(self._table(base, position_ids, hidden_BLD.dtype) for base in self.bases))

    def _table(self, base: float, position_ids: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        pairs = torch.arange(0, self.head_size, 2, dtype=torch.float32, device=position_ids.device)
        frequencies = 1.0 / base ** (pairs / self.head_size)
        angles = position_ids[:, None, :, None].float() * frequencies
        angles = torch.cat((angles, angles), dim=-1)
        return angles.cos().to(dtype), angles.sin().to(dtype)


def turn_states(
    attention: nn.Module, q_BHQK: Tensor, k_BHLK: Tensor, angles: Angles, stages: Stages, *, is_local: bool
) -> tuple[Tensor, Tensor, None]:
    """Return one layer's rotated queries and keys; nothing is added to the scores."""
    cos, sin = angles.local if is_local else angles.full
    return rotate(q_BHQK, cos, sin), rotate(k_BHLK, cos, sin), None


def rotate(x_BHLK: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotate each pair of numbers, the i-th and the (i + K/2)-th, by its angle; computed in 32 bits."""
    x = x_BHLK.float()
    first, second = x.chunk(2, dim=-1)
    return (x * cos + torch.cat((-second, first), dim=-1) * sin).to(x_BHLK.dtype)
