"""From token ids to vectors: token + position + segment, then LayerNorm, then dropout (section 3, figure 2).

Families leave out a table, count positions from another row, or project smaller vectors; see docs/families.md.
"""

import torch
from torch import Tensor, nn

from bertviz_lab.config import BertConfig
from bertviz_lab.model.families.positions import position_rows
from bertviz_lab.model.layers import Embedding, LayerNorm, Linear, dropout


class Embeddings(nn.Module):
    """The sum of three learned tables, normalized."""

    def __init__(self, config: BertConfig):
        super().__init__()
        size = config.embedding_size or config.hidden_size
        positions = config.max_position_embeddings + config.position_offset
        self.word = Embedding(config.vocab_size, size)
        self.position = Embedding(positions, size) if config.position_biased_input else None
        self.token_type = Embedding(config.type_vocab_size, size) if config.type_vocab_size else None
        self.norm = LayerNorm(size, config.layer_norm_eps, bias=config.norm_bias)
        self.projection = Linear(size, config.hidden_size) if config.embedding_size else None  # ALBERT, section 3.1
        self.dropout = config.hidden_dropout_prob
        self.longest = config.max_position_embeddings
        self.offset = config.position_offset

    def forward(
        self,
        input_ids: Tensor | None,
        token_type_ids: Tensor | None = None,
        position_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
    ) -> Tensor:
        """Embed ids (batch, tokens) as (batch, tokens, hidden); `inputs_embeds` replaces the word vectors.

        Raises `ValueError` when neither or both inputs are given, or the text is longer than the positions learned.
        """
        word_BLD, position_BLD, segment_BLD = self.summands(input_ids, token_type_ids, position_ids, inputs_embeds)
        sum_BLD = word_BLD
        for table_BLD in (position_BLD, segment_BLD):
            sum_BLD = sum_BLD if table_BLD is None else sum_BLD + table_BLD
        normed_BLD = dropout(self.norm(sum_BLD), self.dropout, self.training)
        return normed_BLD if self.projection is None else self.projection(normed_BLD)

    def summands(
        self,
        input_ids: Tensor | None,
        token_type_ids: Tensor | None = None,
        position_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
    ) -> tuple[Tensor, Tensor | None, Tensor | None]:
        """Return the vectors of tokens, positions and segments that are added; None for a table that a family lacks."""
        if (input_ids is None) == (inputs_embeds is None):
            raise ValueError("Give either input_ids or inputs_embeds.")
        word_BLD = self.word(input_ids) if inputs_embeds is None else inputs_embeds
        length = word_BLD.shape[1]
        if length > self.longest:
            raise ValueError(f"The text has {length} tokens; this model has learned {self.longest} positions.")
        in_order = torch.arange(length, device=word_BLD.device)[None]
        if position_ids is None:
            position_ids = position_rows(input_ids, in_order, self.offset)
        if token_type_ids is None or (self.token_type is not None and len(self.token_type.weight) == 1):
            token_type_ids = torch.zeros_like(in_order)
        return (
            word_BLD,
            None if self.position is None else self.position(position_ids),
            None if self.token_type is None else self.token_type(token_type_ids),
        )
