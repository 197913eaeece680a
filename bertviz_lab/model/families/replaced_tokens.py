"""Replaced-token detection: the head of ELECTRA's discriminator, and its loss.

Source: Clark et al. 2020, "ELECTRA: Pre-training Text Encoders as Discriminators Rather Than Generators", section 2.
"""

import torch.nn.functional as F
from torch import Tensor, nn

from bertviz_lab.config import IGNORE_INDEX, BertConfig
from bertviz_lab.model.bert import BertModelOutput
from bertviz_lab.model.heads import LabelHead
from bertviz_lab.model.layers import ACTIVATION_FUNCTIONS, Linear


def replaced_token_loss(logits: Tensor, labels: Tensor, count: int | None = None) -> Tensor:
    """Return the binary cross-entropy of logits (batch, tokens) over labels that are not -100, over `count` or all."""
    is_counted = labels != IGNORE_INDEX
    losses = F.binary_cross_entropy_with_logits(logits.float(), labels.clamp(min=0).float(), reduction="none")
    return (losses * is_counted).sum() / (is_counted.sum().clamp(min=1) if count is None else count)


class BertForReplacedTokenDetection(LabelHead):
    """Tell which tokens a generator replaced: logits (batch, tokens).

    `labels` (batch, tokens) are 1 where a token was replaced, 0 where it is the original, -100 where it is not counted.
    """

    def loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        return replaced_token_loss(logits, labels)

    def add_head(self, config: BertConfig) -> None:
        self.detector = nn.ModuleDict(
            {"dense": Linear(config.hidden_size, config.hidden_size), "output": Linear(config.hidden_size, 1)}
        )
        self.activation = config.hidden_act

    def logits(self, out: BertModelOutput) -> Tensor:
        x_BLD = ACTIVATION_FUNCTIONS[self.activation](self.detector["dense"](out.last_hidden_state))
        return self.detector["output"](x_BLD).squeeze(-1)
