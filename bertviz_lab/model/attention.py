"""Multi-head self-attention, twice: the explicit formula to read and to trace, the fused kernel for speed.

Both compute softmax(q k^T / sqrt(K)) v (Vaswani et al. 2017, section 3.2); a test holds them equal.
Families whose attention sees relative positions or a window of the text: `positions.py`.
"""

import math
from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bertviz_lab.config import BertConfig
from bertviz_lab.model.families.positions import layer_positions
from bertviz_lab.model.layers import Linear, dropout
from bertviz_lab.model.trace import Patch, Stages, patched

Mask = Tensor | None


class SelfAttention(nn.Module):
    """Each query position attends to the key positions that the mask allows, once per head."""

    def __init__(self, config: BertConfig, layer: int = 0):
        super().__init__()
        size, bias = config.hidden_size, config.attention_bias
        self.heads = config.num_attention_heads
        self.query = Linear(size, size, bias)
        self.key = Linear(size, size, bias)
        self.value = Linear(size, size, bias)
        self.output = Linear(size, size, bias)
        self.dropout = config.attention_probs_dropout_prob
        self.positions = layer_positions(config, layer)  # None in BERT

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
        """Attend from the query positions `hidden_BQD` to all positions `hidden_BLD`: (batch, queries, hidden).

        `attn_mask` is boolean, broadcastable to (batch, heads, queries, tokens): True where attention is allowed.
        `head_mask_H` ([batch,] heads) multiplies each head's context: 1 keeps a head, 0 removes it (Michel et al.
        2019). `stages` collects the attention fields of a `LayerTrace`, which needs `explicit`. `positions` is what
        `shared_positions` of the family gave for the text; `patches` are those of this layer.
        """
        q_BHQK = self._split_heads(self.query(hidden_BQD))
        k_BHLK = self._split_heads(self.key(hidden_BLD))
        v_BHLK = patched("value_states", self._split_heads(self.value(hidden_BLD)), patches)
        rate = self.dropout if self.training else 0.0
        bias_BHQL = None  # of relative positions, added to the scores
        if self.positions is not None:
            q_BHQK, k_BHLK, bias_BHQL = self.positions(self, q_BHQK, k_BHLK, positions, stages)

        # In 16 bits the CPU's fused kernel takes several times as long as plain products, backward above all, and with
        # dropout it has none. What is added to the scores is as large as they are: a fused kernel would save nothing.
        is_slow = q_BHQK.device.type == "cpu" and (q_BHQK.dtype != torch.float32 or rate > 0)
        if explicit or bias_BHQL is not None or is_slow:
            scores_BHQL = (q_BHQK / math.sqrt(q_BHQK.shape[-1])) @ k_BHLK.transpose(-1, -2)
            if bias_BHQL is not None:
                scores_BHQL = scores_BHQL + bias_BHQL
            if attn_mask is not None:
                scores_BHQL = scores_BHQL.masked_fill(~attn_mask, torch.finfo(scores_BHQL.dtype).min)
            probs_BHQL = scores_BHQL.softmax(dim=-1)
            context_BHQK = dropout(probs_BHQL, rate) @ v_BHLK
            if stages is not None:
                stages.update(query_states=q_BHQK, key_states=k_BHLK, value_states=v_BHLK)
                stages.update(attention_scores=scores_BHQL, attention_probs=probs_BHQL)
        else:
            context_BHQK = F.scaled_dot_product_attention(q_BHQK, k_BHLK, v_BHLK, attn_mask, rate)

        if head_mask_H is not None:
            context_BHQK = context_BHQK * head_mask_H[..., None, None]
        context_BHQK = patched("context", context_BHQK, patches)
        if stages is not None:
            stages["context"] = context_BHQK
        return self.output(context_BHQK.transpose(1, 2).flatten(2))

    def _split_heads(self, x_BLD: Tensor) -> Tensor:
        """Cut each vector into one piece per head: (B, L, D) -> (B, H, L, K)."""
        return x_BLD.unflatten(-1, (self.heads, -1)).transpose(1, 2)


def extended_attention_mask(attention_mask: Mask, length: int, causal: bool, device: torch.device) -> Mask:
    """Return the mask that attention takes: boolean, broadcastable to (batch, heads, queries, keys), True if allowed.

    `attention_mask` is non-zero at the tokens that may be attended to: (batch, keys), the same for all queries, or
    (batch, queries, keys). `causal` also hides later tokens, as in GPT. None when nothing is masked.
    """
    allowed = None if attention_mask is None else attention_mask.bool()[:, None]
    if allowed is not None and allowed.dim() == 3:
        allowed = allowed[:, None]
    if causal:
        causal_11LL = torch.ones(1, 1, length, length, dtype=torch.bool, device=device).tril()
        allowed = causal_11LL if allowed is None else allowed & causal_11LL
    return allowed
