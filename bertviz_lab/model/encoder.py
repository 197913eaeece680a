"""The stack of encoder layers, each: attention, add and norm, feed-forward, add and norm (post-LN)."""

import torch.nn.functional as F
from torch import Tensor, nn

from bertviz_lab.config import BertConfig
from bertviz_lab.model.attention import SelfAttention
from bertviz_lab.model.layers import LayerNorm, Linear, activation
from bertviz_lab.model.trace import LayerTrace


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
        self, asking_BQD: Tensor, hidden_BLD: Tensor, visible: Tensor | None, gates_H: Tensor | None, explicit: bool
    ) -> tuple[Tensor, LayerTrace | None]:
        """Update the asking tokens from all tokens: (batch, asking, hidden), and every stage if explicit."""
        attended_BQD, stages = self.attention(asking_BQD, hidden_BLD, visible, gates_H, explicit)
        x_BQD = self.attention_norm(asking_BQD + F.dropout(attended_BQD, self.dropout, self.training))
        inner_BQF = activation(self.activation, self.intermediate(x_BQD))
        y_BQD = self.output_norm(x_BQD + F.dropout(self.output(inner_BQF), self.dropout, self.training))
        if not explicit:
            return y_BQD, None
        return y_BQD, LayerTrace(
            **stages,
            attention_output_BLD=attended_BQD,
            attention_hidden_BLD=x_BQD,
            intermediate_BLF=inner_BQF,
            hidden_BLD=y_BQD,
        )


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
        visible: Tensor | None,
        head_gates: Tensor | None = None,
        explicit: bool = False,
        positions_BP: Tensor | None = None,
        first: int = 0,
    ) -> tuple[list[Tensor], list[LayerTrace]]:
        """The hidden states from the embeddings to the last layer's, and the traces if explicit.

        `hidden_BLD` enters layer `first`; `head_gates` is ([batch,] layers, heads). With `positions_BP` the last layer
        computes those only, (batch, positions, hidden): the other tokens would feed nothing, so this is exact.
        """
        states, traces = [hidden_BLD], []
        for index, layer in list(enumerate(self.layers))[first:]:
            asking = hidden_BLD = states[-1]
            if positions_BP is not None and index == len(self.layers) - 1:
                asking = _pick(hidden_BLD, positions_BP)
                if visible is not None and visible.shape[-2] > 1:  # a causal mask has one row per asking token
                    visible = _pick(visible.squeeze(1).expand(len(asking), -1, -1), positions_BP)[:, None]
            gates_H = None if head_gates is None else head_gates[..., index, :]
            hidden_BLD, trace = layer(asking, hidden_BLD, visible, gates_H, explicit)
            states.append(hidden_BLD)
            traces += [trace] if trace else []
        return states, traces


def _pick(rows: Tensor, positions_BP: Tensor) -> Tensor:
    """The rows at some positions: (batch, tokens, n) -> (batch, positions, n)."""
    return rows.gather(1, positions_BP[..., None].expand(-1, -1, rows.shape[-1]))
