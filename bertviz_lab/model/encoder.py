"""The stack of encoder layers: self-attention and a feed-forward network, each with residual connection and LayerNorm.

    a = LayerNorm(x + attention(x)),    y = LayerNorm(a + feed_forward(a))       post-norm: BERT
    a = x + attention(LayerNorm(x)),    y = a + feed_forward(LayerNorm(a))       pre-norm: ModernBERT

Sources: Vaswani et al. 2017, section 3.1; Xiong et al. 2020, "On Layer Normalization in the Transformer Architecture",
section 3.1. What attention learns of positions in other families: `families/positions.py`.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from bertviz_lab.config import BertConfig
from bertviz_lab.model.attention import Mask, SelfAttention
from bertviz_lab.model.families.positions import shared_positions, window_mask
from bertviz_lab.model.layers import ACTIVATION_FUNCTIONS, LayerNorm, Linear, dropout
from bertviz_lab.model.trace import LayerTrace, Patch, Stages, patched


class EncoderLayer(nn.Module):
    """One encoder layer, post-norm as in BERT or pre-norm."""

    def __init__(self, config: BertConfig, layer: int = 0):
        super().__init__()
        size, width, bias = config.hidden_size, config.intermediate_size, config.mlp_bias
        self.attention = SelfAttention(config, layer)
        self.is_prenorm = config.is_prenorm
        self.attention_norm: nn.Module = LayerNorm(size, config.layer_norm_eps, bias=config.norm_bias)
        if self.is_prenorm and layer == 0:  # the embeddings have just been normalized
            self.attention_norm = nn.Identity()
        self.intermediate = Linear(size, width, bias)
        self.gate = Linear(size, width, bias) if config.gated_feed_forward else None
        self.output = Linear(width, size, bias)
        self.output_norm = LayerNorm(size, config.layer_norm_eps, bias=config.norm_bias)
        self.activation = config.hidden_act
        self.dropout = config.hidden_dropout_prob
        self.is_idle = False  # not joined yet (training/loop/growth.py): skipped in training

    def forward(
        self,
        hidden_BQD: Tensor,
        hidden_BLD: Tensor,
        attn_mask: Mask,
        head_mask_H: Mask,
        explicit: bool,
        stages: Stages,
        positions: Any = None,
        patches: Sequence[Patch] = (),
    ) -> Tensor:
        """Return the new states of the query positions, (batch, queries, hidden); fill `stages` for a `LayerTrace`.

        `patches` are those of this layer.
        """
        if self.is_idle and self.training:  # both sub-layers add zero
            return hidden_BQD if self.is_prenorm else self.output_norm(self.attention_norm(hidden_BQD))
        x_BQD, x_BLD = hidden_BQD, hidden_BLD
        if self.is_prenorm:
            x_BQD, x_BLD = self.attention_norm(x_BQD), self.attention_norm(x_BLD)
        projection_BQD = self.attention(x_BQD, x_BLD, attn_mask, head_mask_H, explicit, stages, positions, patches)
        projection_BQD = patched("attention_projection", projection_BQD, patches)
        attention_BQD = hidden_BQD + dropout(projection_BQD, self.dropout, self.training)
        if not self.is_prenorm:
            attention_BQD = self.attention_norm(attention_BQD)
        intermediate_BQF = self.expand(self.output_norm(attention_BQD) if self.is_prenorm else attention_BQD)
        feed_forward_BQD = patched("feed_forward_projection", self.output(intermediate_BQF), patches)
        output_BQD = attention_BQD + dropout(feed_forward_BQD, self.dropout, self.training)
        if not self.is_prenorm:
            output_BQD = self.output_norm(output_BQD)
        output_BQD = patched("layer_output", output_BQD, patches)
        if stages is not None:
            stages.update(attention_projection=projection_BQD, attention_output=attention_BQD)
            stages.update(intermediate_output=intermediate_BQF, feed_forward_projection=feed_forward_BQD)
            stages["layer_output"] = output_BQD
        return output_BQD

    def expand(self, x_BQD: Tensor) -> Tensor:
        """Return the first half of the feed-forward layer; a GLU multiplies it by a gate (Shazeer 2020)."""
        x_BQF = ACTIVATION_FUNCTIONS[self.activation](self.intermediate(x_BQD))
        return x_BQF if self.gate is None else x_BQF * self.gate(x_BQD)


class Encoder(nn.Module):
    """The layers one after another; with `share_layers` the same one again and again (Lan et al. 2019)."""

    def __init__(self, config: BertConfig):
        super().__init__()
        different = 1 if config.share_layers else config.num_hidden_layers
        layers = [EncoderLayer(config, layer) for layer in range(different)]
        self.config = config
        self.positions = shared_positions(config)  # None in BERT
        self.layers = nn.ModuleList(layers * (config.num_hidden_layers // different))
        self.gradient_checkpointing = False

    def forward(
        self,
        hidden_BLD: Tensor,
        attn_mask: Mask,
        head_mask: Mask = None,
        masked_positions: Tensor | None = None,
        explicit: bool = False,
        output_trace: bool = False,
        start_layer: int = 0,
        position_ids: Tensor | None = None,
        patches: Sequence[Patch] = (),
    ) -> Iterator[tuple[Tensor, LayerTrace | None]]:
        """Yield each layer's output, and its trace if asked, from `start_layer` on, which `hidden_BLD` enters.

        `head_mask` is ([batch,] layers, heads). With `masked_positions` (batch, P) the last layer has only these as
        queries, and its output is (batch, P, hidden). This is exact: no later layer attends to the others. `patches`
        replace activations of all tokens.
        """
        explicit = explicit or output_trace
        positions = None if self.positions is None else self.positions(hidden_BLD, position_ids)
        window, length = self.config.local_attention, hidden_BLD.shape[1]
        local_mask = window_mask(attn_mask, length, window, hidden_BLD.device) if window else None
        last = max(index for index, layer in enumerate(self.layers) if not (layer.is_idle and self.training))
        for index in range(start_layer, len(self.layers)):
            layer, is_local = self.layers[index], self.config.is_local(index)
            hidden_BQD, mask = hidden_BLD, local_mask if is_local else attn_mask
            head_mask_H = None if head_mask is None else head_mask[..., index, :]
            queries = masked_positions if index == last else None
            patches_of_layer = [patch for patch in patches if patch.layer == index]
            # The scores of relative positions, and what is patched, are of all tokens.
            computes_all = self.positions is not None or bool(patches_of_layer)
            if queries is not None and not computes_all:
                hidden_BQD = _gather(hidden_BLD, queries)
                if mask is not None and mask.shape[-2] > 1:  # one row for each query
                    mask = _gather(mask.squeeze(1).expand(len(hidden_BQD), -1, -1), queries)[:, None]
            stages: Stages = {} if output_trace else None
            inputs = hidden_BQD, hidden_BLD, mask, head_mask_H, explicit, stages, positions, patches_of_layer
            if self.gradient_checkpointing and self.training:  # computed again in the backward pass
                hidden_BLD = checkpoint(layer, *inputs, use_reentrant=False)
            else:
                hidden_BLD = layer(*inputs)
            if queries is not None and computes_all:
                hidden_BLD = _gather(hidden_BLD, queries)
            yield hidden_BLD, LayerTrace(**stages, window=window if is_local else None) if stages else None


def set_gradient_checkpointing(model: nn.Module, enabled: bool) -> None:
    """Set whether training keeps only each layer's input and computes the rest again.

    The gradients are the same, in less memory and a third more time (Chen et al. 2016).
    """
    for module in model.modules():
        if isinstance(module, Encoder):
            module.gradient_checkpointing = enabled


def _gather(rows_BLN: Tensor, positions_BP: Tensor) -> Tensor:
    """Return the rows at some positions: (batch, tokens, n) -> (batch, positions, n); (1, P) are those of all texts."""
    return rows_BLN.gather(1, positions_BP[..., None].expand(len(rows_BLN), -1, rows_BLN.shape[-1]))
