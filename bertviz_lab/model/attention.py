"""Multi-head self-attention, twice: the explicit formula to read and to trace, the fused kernel for speed.

Both compute softmax(q k^T / sqrt(K)) v (Vaswani et al. 2017, section 3.2); a test holds them equal.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bertviz_lab.config import BertConfig
from bertviz_lab.model.layers import Linear


class SelfAttention(nn.Module):
    """Every asking token gathers from every token it may see, once per head."""

    def __init__(self, config: BertConfig):
        super().__init__()
        self.heads = config.num_attention_heads
        self.query = Linear(config.hidden_size, config.hidden_size)
        self.key = Linear(config.hidden_size, config.hidden_size)
        self.value = Linear(config.hidden_size, config.hidden_size)
        self.output = Linear(config.hidden_size, config.hidden_size)
        self.dropout = config.attention_probs_dropout_prob

    def forward(
        self, asking_BQD: Tensor, hidden_BLD: Tensor, visible: Tensor | None, gates_H: Tensor | None, explicit: bool
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Attend from `asking_BQD` to `hidden_BLD`: (batch, asking, hidden), and if explicit fields of a `LayerTrace`.

        `visible` is boolean, broadcastable to (batch, heads, asking, tokens): True where a token may be seen.
        `gates_H` ([batch,] heads) multiplies each head's output: 1 leaves it, 0 removes the head (Michel et al. 2019).
        """
        q_BHQK = self._split(self.query(asking_BQD))
        k_BHLK = self._split(self.key(hidden_BLD))
        v_BHLK = self._split(self.value(hidden_BLD))
        dropout = self.dropout if self.training else 0.0
        stages: dict[str, Tensor] = {}

        # In 16 bits the CPU's kernel takes several times as long as plain products, backward above all.
        if explicit or (q_BHQK.device.type == "cpu" and q_BHQK.dtype != torch.float32):
            scores_BHQL = (q_BHQK / math.sqrt(q_BHQK.shape[-1])) @ k_BHLK.transpose(-1, -2)
            if visible is not None:
                scores_BHQL = scores_BHQL.masked_fill(~visible, torch.finfo(scores_BHQL.dtype).min)
            probs_BHQL = scores_BHQL.softmax(dim=-1)
            context_BHQK = F.dropout(probs_BHQL, dropout) @ v_BHLK
            stages = dict(q_BHLK=q_BHQK, k_BHLK=k_BHLK, v_BHLK=v_BHLK, scores_BHLL=scores_BHQL, probs_BHLL=probs_BHQL)
        else:
            context_BHQK = F.scaled_dot_product_attention(q_BHQK, k_BHLK, v_BHLK, visible, dropout)

        if gates_H is not None:
            context_BHQK = context_BHQK * gates_H[..., None, None]
        output_BQD = self.output(context_BHQK.transpose(1, 2).flatten(2))
        return output_BQD, stages | {"context_BHLK": context_BHQK} if explicit else stages

    def _split(self, x_BLD: Tensor) -> Tensor:
        """(B, L, D) -> (B, H, L, K): cut each vector into one piece a head."""
        return x_BLD.unflatten(-1, (self.heads, -1)).transpose(1, 2)


def visibility(attention_mask: Tensor | None, length: int, causal: bool, device: torch.device) -> Tensor | None:
    """Who may see whom: padding is hidden from all; `causal` also hides what comes later, as GPT does.

    `attention_mask` is (batch, tokens), non-zero at real tokens. Returns a boolean tensor broadcastable to
    (batch, heads, tokens, tokens), or None when everything is visible.
    """
    visible = None if attention_mask is None else attention_mask.bool()[:, None, None, :]
    if causal:
        earlier_11LL = torch.ones(1, 1, length, length, dtype=torch.bool, device=device).tril()
        visible = earlier_11LL if visible is None else visible & earlier_11LL
    return visible
