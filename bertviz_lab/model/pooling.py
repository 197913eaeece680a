"""What a classifier reads. In BERT: tanh of a dense layer on [CLS] for a text, and each token's own hidden state.

Families have another activation, a dropout before it, a LayerNorm after it, or the mean of all tokens.
"""

from typing import TYPE_CHECKING

import torch.nn.functional as F
from torch import Tensor, nn

from bertviz_lab.config import BertConfig
from bertviz_lab.model.layers import ACTIVATION_FUNCTIONS, LayerNorm, Linear

if TYPE_CHECKING:
    from bertviz_lab.model.bert import BertModel


def pool_text(model: "BertModel", hidden_BLD: Tensor, text_mask: Tensor | None) -> Tensor | None:
    """One vector of each text, (batch, hidden): that of [CLS], or of ModernBERT's classifiers the mean of its tokens.

    None for a model without a pooler.
    """
    if model.pooler is None:
        return None
    if model.config.classifier_pooling == "cls":
        return pool(model, hidden_BLD[:, 0])
    if text_mask is None or text_mask.dim() != 2:
        return pool(model, hidden_BLD.mean(1))
    return pool(model, (hidden_BLD * text_mask[..., None]).sum(1) / text_mask.sum(1, keepdim=True))


def pool(model: "BertModel", hidden_BD: Tensor) -> Tensor:
    """The pooler on one hidden state of each text: dense and activation."""
    config = model.config
    assert model.pooler is not None
    if config.dropout_before_pooler:
        hidden_BD = F.dropout(hidden_BD, config.head_dropout, model.training)
    pooled_BD = ACTIVATION_FUNCTIONS[config.pooler_act](model.pooler(hidden_BD))
    return pooled_BD if model.pooler_norm is None else model.pooler_norm(pooled_BD)


class ClassifierTransform(nn.Module):
    """Dense, activation, LayerNorm before a classifier of tokens, in families with `classifier_transform`."""

    def __init__(self, config: BertConfig):
        super().__init__()
        self.dense = Linear(config.hidden_size, config.hidden_size, config.classifier_bias)
        self.norm = LayerNorm(config.hidden_size, config.layer_norm_eps, bias=config.norm_bias)
        self.activation = config.pooler_act

    def forward(self, hidden_BLD: Tensor) -> Tensor:
        return self.norm(ACTIVATION_FUNCTIONS[self.activation](self.dense(hidden_BLD)))
