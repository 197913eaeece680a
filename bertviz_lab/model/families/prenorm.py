"""The pre-norm order of a layer (ModernBERT): each sub-layer reads normalised states and adds to states that are not.

    a = x + attention(LayerNorm(x)),    y = a + feed_forward(LayerNorm(a))

Source: Xiong et al. 2020, "On Layer Normalization in the Transformer Architecture", section 3.1.
"""

from typing import TYPE_CHECKING, Any

import torch.nn.functional as F
from torch import Tensor

from bertviz_lab.model.trace import Stages

if TYPE_CHECKING:
    from bertviz_lab.model.encoder import EncoderLayer


def prenorm_layer(
    layer: "EncoderLayer",
    hidden_BQD: Tensor,
    hidden_BLD: Tensor,
    attn_mask: Tensor | None,
    head_mask_H: Tensor | None,
    explicit: bool,
    stages: Stages,
    positions: Any,
) -> Tensor:
    """As `EncoderLayer.forward`; the first layer has no LayerNorm of its own before attention."""

    if layer.is_idle and layer.training:
        return hidden_BQD

    def drop(x: Tensor) -> Tensor:
        return F.dropout(x, layer.dropout, layer.training)

    norm = layer.attention_norm
    q_BQD, kv_BLD = (hidden_BQD, hidden_BLD) if norm is None else (norm(hidden_BQD), norm(hidden_BLD))
    projection_BQD = layer.attention(q_BQD, kv_BLD, attn_mask, head_mask_H, explicit, stages, positions)
    attention_BQD = hidden_BQD + drop(projection_BQD)
    intermediate_BQF = layer.expand(layer.output_norm(attention_BQD))
    output_BQD = attention_BQD + drop(layer.output(intermediate_BQF))
    if stages is not None:
        stages.update(attention_projection=projection_BQD, attention_output=attention_BQD)
        stages.update(intermediate_output=intermediate_BQF, layer_output=output_BQD)
    return output_BQD
