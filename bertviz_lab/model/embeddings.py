"""From token ids to vectors: token + position + segment, then LayerNorm, then dropout (section 3, figure 2)."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bertviz_lab.config import BertConfig
from bertviz_lab.model.layers import Embedding, LayerNorm


class Embeddings(nn.Module):
    """The sum of three learned tables, normalised."""

    def __init__(self, config: BertConfig):
        super().__init__()
        self.word = Embedding(config.vocab_size, config.hidden_size)
        self.position = Embedding(config.max_position_embeddings, config.hidden_size)
        self.token_type = Embedding(config.type_vocab_size, config.hidden_size)
        self.norm = LayerNorm(config.hidden_size, config.layer_norm_eps)
        self.dropout = config.hidden_dropout_prob

    def forward(
        self,
        input_ids: Tensor | None,
        token_type_ids: Tensor | None = None,
        position_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
    ) -> Tensor:
        """Ids (batch, tokens) to vectors (batch, tokens, hidden); `inputs_embeds` replaces the word vectors.

        Raises `ValueError` when neither or both inputs are given, or the text is longer than the positions learnt.
        """
        if (input_ids is None) == (inputs_embeds is None):
            raise ValueError("Give either input_ids or inputs_embeds.")
        word_BLD = self.word(input_ids) if inputs_embeds is None else inputs_embeds
        length, longest = word_BLD.shape[1], self.position.weight.shape[0]
        if length > longest:
            raise ValueError(f"The text has {length} tokens; this model has learnt {longest} positions.")
        if position_ids is None:
            position_ids = torch.arange(length, device=word_BLD.device)[None]
        if token_type_ids is None:
            token_type_ids = torch.zeros_like(position_ids)
        sum_BLD = word_BLD + self.position(position_ids) + self.token_type(token_type_ids)
        return F.dropout(self.norm(sum_BLD), self.dropout, self.training)
