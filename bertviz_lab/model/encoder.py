"""The stack of encoder layers, each: attention, add and norm, feed-forward, add and norm (post-LN)."""

from collections.abc import Iterator

import torch.nn.functional as F
from torch import Tensor, nn

from bertviz_lab.config import BertConfig
from bertviz_lab.model.attention import Mask, SelfAttention
from bertviz_lab.model.layers import ACTIVATION_FUNCTIONS, LayerNorm, Linear
from bertviz_lab.model.trace import LayerTrace, Stages


class EncoderLayer(nn.Module):
    """One layer: LayerNorm(x + attention(x)), then LayerNorm(x + feed_forward(x))."""

    def __init__(self, config: BertConfig):
        super().__init__()
        self.attention = SelfAttention(config)
        self.attention_norm = LayerNorm(config.hidden_size, config.layer_norm_eps)
        self.intermediate = Linear(config.hidden_size, config.intermediate_size)
        self.output = Linear(config.intermediate_size, config.hidden_size)
        self.output_norm = LayerNorm(config.hidden_size, config.layer_norm_eps)
        self.activation = config.hidden_act
        self.dropout = config.hidden_dropout_prob

    def forward(
        self, hidden_BQD: Tensor, hidden_BLD: Tensor, attn_mask: Mask, head_mask_H: Mask, explicit: bool, stages: Stages
    ) -> Tensor:
        """The new hidden states of the query positions, (batch, queries, hidden); `stages` receives a `LayerTrace`."""
        projection_BQD = self.attention(hidden_BQD, hidden_BLD, attn_mask, head_mask_H, explicit, stages)
        attention_BQD = self.attention_norm(hidden_BQD + F.dropout(projection_BQD, self.dropout, self.training))
        intermediate_BQF = ACTIVATION_FUNCTIONS[self.activation](self.intermediate(attention_BQD))
        output_BQD = F.dropout(self.output(intermediate_BQF), self.dropout, self.training)
        output_BQD = self.output_norm(attention_BQD + output_BQD)
        if stages is not None:
            stages.update(attention_projection=projection_BQD, attention_output=attention_BQD)
            stages.update(intermediate_output=intermediate_BQF, layer_output=output_BQD)
        return output_BQD


class Encoder(nn.Module):
    """The layers one after another; with `share_layers` the same one again and again (Lan et al. 2019)."""

    def __init__(self, config: BertConfig):
        super().__init__()
        different = 1 if config.share_layers else config.num_hidden_layers
        layers = [EncoderLayer(config) for _ in range(different)]
        self.layers = nn.ModuleList(layers * (config.num_hidden_layers // different))

    def forward(
        self,
        hidden_BLD: Tensor,
        attn_mask: Mask,
        head_mask: Mask = None,
        masked_positions: Tensor | None = None,
        explicit: bool = False,
        output_trace: bool = False,
        start_layer: int = 0,
    ) -> Iterator[tuple[Tensor, LayerTrace | None]]:
        """Yield each layer's output, and its trace if asked, from `start_layer` on, which `hidden_BLD` enters.

        `head_mask` is ([batch,] layers, heads). With `masked_positions` (batch, P) the last layer has only these as
        queries, and its output is (batch, P, hidden). This is exact: no later layer attends to the others.
        """
        for index, layer in list(enumerate(self.layers))[start_layer:]:
            hidden_BQD = hidden_BLD
            if masked_positions is not None and index == len(self.layers) - 1:
                hidden_BQD = _gather(hidden_BLD, masked_positions)
                if attn_mask is not None and attn_mask.shape[-2] > 1:  # one row of the mask for each query
                    rows_BLL = attn_mask.squeeze(1).expand(len(hidden_BQD), -1, -1)
                    attn_mask = _gather(rows_BLL, masked_positions)[:, None]
            head_mask_H = None if head_mask is None else head_mask[..., index, :]
            stages: Stages = {} if output_trace else None
            hidden_BLD = layer(hidden_BQD, hidden_BLD, attn_mask, head_mask_H, explicit or output_trace, stages)
            yield hidden_BLD, LayerTrace(**stages) if stages else None


def _gather(rows_BLN: Tensor, positions_BP: Tensor) -> Tensor:
    """The rows at some positions: (batch, tokens, n) -> (batch, positions, n)."""
    return rows_BLN.gather(1, positions_BP[..., None].expand(-1, -1, rows_BLN.shape[-1]))
