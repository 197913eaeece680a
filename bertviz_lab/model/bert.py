"""The backbone that all tasks share: embeddings, encoder, and the pooled [CLS] vector."""

from dataclasses import dataclass
from typing import TypedDict

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bertviz_lab.config import BertConfig
from bertviz_lab.model.attention import visibility
from bertviz_lab.model.embeddings import Embeddings
from bertviz_lab.model.encoder import Encoder
from bertviz_lab.model.layers import Linear, initialize
from bertviz_lab.model.trace import LayerTrace


@dataclass(frozen=True, kw_only=True)
class BertModelOutput:
    """What the backbone returns, under Hugging Face's field names."""

    last_hidden_state: Tensor  # (batch, tokens, hidden), or (batch, positions, hidden)
    pooler_output: Tensor | None  # (batch, hidden): tanh of a dense layer on [CLS]; None without a pooler
    hidden_states: tuple[Tensor, ...] | None  # embeddings and each layer's output
    attentions: tuple[Tensor, ...] | None  # per layer (batch, heads, tokens, tokens)
    trace: tuple[LayerTrace, ...] | None  # every stage of every layer


class BackboneOptions(TypedDict, total=False):
    """Arguments of `BertModel` that every head hands on unchanged."""

    position_ids: Tensor | None
    inputs_embeds: Tensor | None
    output_hidden_states: bool
    output_attentions: bool
    output_trace: bool
    explicit: bool
    head_gates: Tensor | None
    causal: bool
    positions: Tensor | None


class BertModel(nn.Module):
    """BERT without a task: token ids in, one vector a token out (Devlin et al. 2018, section 3)."""

    def __init__(self, config: BertConfig, *, add_pooling_layer: bool = True, generator: torch.Generator | None = None):
        super().__init__()
        self.config = config
        self.embeddings = Embeddings(config)
        self.encoder = Encoder(config)
        self.pooler = Linear(config.hidden_size, config.hidden_size) if add_pooling_layer else None
        initialize(self, config.initializer_range, generator)

    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        position_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        *,
        output_hidden_states: bool = False,
        output_attentions: bool = False,
        output_trace: bool = False,
        explicit: bool = False,
        head_gates: Tensor | None = None,
        causal: bool = False,
        positions: Tensor | None = None,
    ) -> BertModelOutput:
        """Encode a batch; ids and masks are (batch, tokens), 1 in `attention_mask` marks a real token.

        `explicit` computes attention by the written-out formula, which asking for attentions or a trace implies.
        Interventions: `head_gates` ([batch,] layers, heads) scales heads, `causal` hides later tokens (always so in a
        decoder), `inputs_embeds` (batch, tokens, hidden) replaces the word vectors. `positions` (batch, P) asks for
        their vectors only: the last layer computes them and [CLS]. Raises `ValueError` for a text too long.
        """
        first_BLD = self.embeddings(input_ids, token_type_ids, position_ids, inputs_embeds)
        visible = visibility(attention_mask, first_BLD.shape[1], causal or self.config.is_decoder, first_BLD.device)
        explicit = explicit or output_attentions or output_trace
        asked = None if positions is None else F.pad(positions, (1, 0))  # the pooler wants [CLS], at position 0
        states, layers = self.encoder(first_BLD, visible, head_gates, explicit, asked)
        return BertModelOutput(
            last_hidden_state=states[-1] if positions is None else states[-1][:, 1:],
            pooler_output=None if self.pooler is None else torch.tanh(self.pooler(states[-1][:, 0])),
            hidden_states=tuple(states) if output_hidden_states else None,
            attentions=tuple(layer.probs_BHLL for layer in layers) if output_attentions else None,
            trace=tuple(layers) if output_trace else None,
        )
