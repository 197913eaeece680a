"""Where a model learns of positions. In BERT from its input: rows 0, 1, 2 ... of a table; attention itself has none.

The other kinds have a part that all layers share, computed once for a text, and a part in each layer.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from bertviz_lab.config import BertConfig
from bertviz_lab.model.families.disentangled import DisentangledAttention, RelativePositions
from bertviz_lab.model.families.relative_bias import RelativeBias, add_bias
from bertviz_lab.model.families.rotary import RotaryAngles, turn_states


def shared_positions(config: BertConfig) -> nn.Module | None:
    """Return the module that all layers share: hidden states and position ids in, input of the layers' parts out."""
    match config.position_embedding_type:
        case "rotary":
            return RotaryAngles(config)
        case "disentangled":
            return RelativePositions(config)
        case "relative_bias":
            return RelativeBias(config)
    return None


def layer_positions(config: BertConfig, layer: int) -> Callable[..., Any] | None:
    """Return one layer's part: attention, queries and keys in; queries, keys and an addition to the scores out."""
    match config.position_embedding_type:
        case "rotary":
            return partial(turn_states, is_local=config.is_local(layer))
        case "disentangled":
            return DisentangledAttention(config)
        case "relative_bias":
            return add_bias
    return None


def position_rows(input_ids: Tensor | None, in_order: Tensor, offset: int) -> Tensor:
    """Return rows 0, 1, 2 ... of the table; RoBERTa counts from its offset and gives padding the row before it."""
    if not offset:
        return in_order
    if input_ids is None:
        return in_order + offset
    is_text = input_ids != offset - 1
    return is_text.cumsum(1) * is_text + offset - 1


def window_mask(attn_mask: Tensor | None, length: int, window: int, device: torch.device) -> Tensor:
    """Return the mask of local attention: tokens up to half a window away, of those that `attn_mask` allows."""
    places = torch.arange(length, device=device)
    is_near_11LL = ((places[:, None] - places[None]).abs() <= window // 2)[None, None]
    return is_near_11LL if attn_mask is None else attn_mask & is_near_11LL
