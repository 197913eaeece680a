"""The backbone that all tasks share: embeddings, encoder, and the pooled [CLS] vector."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bertviz_lab.config import BertConfig
from bertviz_lab.model.attention import extended_attention_mask
from bertviz_lab.model.embeddings import Embeddings
from bertviz_lab.model.encoder import Encoder
from bertviz_lab.model.families.disentangled import mask_padding
from bertviz_lab.model.layers import ACTIVATION_FUNCTIONS, LayerNorm, Linear, dropout, initialize
from bertviz_lab.model.trace import LayerTrace, Patch


@dataclass(frozen=True, kw_only=True)
class BertModelOutput:
    """What the backbone returns, under Hugging Face's field names; what was not asked for is None."""

    last_hidden_state: Tensor  # (batch, tokens, hidden), or (batch, masked positions, hidden)
    pooler_output: Tensor | None  # (batch, hidden): tanh of a dense layer on [CLS]; None without a pooler
    hidden_states: tuple[Tensor, ...] | None  # embeddings and each layer's output; of pre-norm models the last normed
    attentions: tuple[Tensor, ...] | None  # per layer (batch, heads, tokens, tokens)
    trace: tuple[LayerTrace, ...] | None  # every stage of every layer


class BertModel(nn.Module):
    """BERT without a task: token ids in, one vector a token out (Devlin et al. 2018, section 3)."""

    def __init__(
        self, config: BertConfig, *, add_pooling_layer: bool | None = None, generator: torch.Generator | None = None
    ):
        """Build the model; `add_pooling_layer` is by default as in the family's bare model."""
        super().__init__()
        has_pooler = config.family.has_pooler if add_pooling_layer is None else add_pooling_layer
        size, eps, bias = config.hidden_size, config.layer_norm_eps, config.norm_bias
        self.config = config
        self.embeddings = Embeddings(config)
        self.encoder = Encoder(config)
        self.final_norm = LayerNorm(size, eps, bias=bias) if config.is_prenorm else None
        self.pooler = Linear(size, size, bias=config.classifier_bias) if has_pooler else None
        self.pooler_norm = LayerNorm(size, eps, bias=bias) if has_pooler and config.classifier_transform else None
        initialize(self, config.initializer_range, generator)

    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        *,
        position_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        output_hidden_states: bool = False,
        output_attentions: bool = False,
        output_trace: bool = False,
        explicit: bool = False,
        head_mask: Tensor | None = None,
        causal: bool = False,
        masked_positions: Tensor | None = None,
        patches: Sequence[Patch] = (),
    ) -> BertModelOutput:
        """Encode a batch; ids are (batch, tokens), and 1 in `attention_mask` marks the tokens to attend to.

        The mask is (batch, tokens), or (batch, queries, tokens) where it differs between queries. `explicit` computes
        attention by the written-out formula, which asking for attentions or a trace implies. Interventions: `head_mask`
        ([batch,] layers, heads) scales heads, `causal` hides later tokens (always so in a decoder), `inputs_embeds`
        (batch, tokens, hidden) replaces the word embeddings, `patches` replace activations of layers.
        `masked_positions` (batch or 1, P) restricts the output to these: the last layer computes only them and [CLS].
        Raises `ValueError` for a text that is too long.
        """
        first_BLD = self.embeddings(input_ids, token_type_ids, position_ids, inputs_embeds)
        text_mask = attention_mask
        if self.config.position_embedding_type == "disentangled":
            first_BLD, attention_mask = mask_padding(first_BLD, attention_mask)
        causal = causal or self.config.is_decoder
        attn_mask = extended_attention_mask(attention_mask, first_BLD.shape[1], causal, first_BLD.device)
        queries = None if masked_positions is None else F.pad(masked_positions, (1, 0))  # and [CLS] for the pooler
        tracing = output_trace or output_attentions
        states, attentions, traces = [first_BLD], [], []
        layers = self.encoder(
            first_BLD, attn_mask, head_mask, queries, explicit, tracing, position_ids=position_ids, patches=patches
        )
        for hidden_BLD, trace in layers:
            states += [hidden_BLD] if output_hidden_states else []
            attentions += [trace.attention_probs] if output_attentions else []
            traces += [trace] if output_trace else []
        hidden_BLD = self.as_final(hidden_BLD)
        states[-1:] = [hidden_BLD] if output_hidden_states else states[-1:]
        return BertModelOutput(
            last_hidden_state=hidden_BLD if masked_positions is None else hidden_BLD[:, 1:],
            pooler_output=self.pool_text(hidden_BLD, text_mask if masked_positions is None else None),
            hidden_states=tuple(states) if output_hidden_states else None,
            attentions=tuple(attentions) if output_attentions else None,
            trace=tuple(traces) if output_trace else None,
        )

    def as_final(self, hidden_BLD: Tensor) -> Tensor:
        """Return a layer's output as heads read it: normalized if the model is pre-norm."""
        return hidden_BLD if self.final_norm is None else self.final_norm(hidden_BLD)

    def pool_text(self, hidden_BLD: Tensor, text_mask: Tensor | None) -> Tensor | None:
        """Return one vector per text, (batch, hidden): from [CLS], or in some ModernBERT classifiers a mean of tokens.

        None for a model without a pooler.
        """
        if self.pooler is None:
            return None
        if self.config.classifier_pooling == "cls":
            return self.pool(hidden_BLD[:, 0])
        if text_mask is None or text_mask.dim() != 2:
            return self.pool(hidden_BLD.mean(1))
        return self.pool((hidden_BLD * text_mask[..., None]).sum(1) / text_mask.sum(1, keepdim=True))

    def pool(self, hidden_BD: Tensor) -> Tensor:
        """Apply the pooler: dense and activation, tanh in BERT; families have dropout before or LayerNorm after it."""
        assert self.pooler is not None
        if self.config.dropout_before_pooler:
            hidden_BD = dropout(hidden_BD, self.config.head_dropout, self.training)
        pooled_BD = ACTIVATION_FUNCTIONS[self.config.pooler_act](self.pooler(hidden_BD))
        return pooled_BD if self.pooler_norm is None else self.pooler_norm(pooled_BD)
