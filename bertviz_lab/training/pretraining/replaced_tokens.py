"""ELECTRA's objective: a small generator fills the masks, a discriminator tells which tokens it replaced.

Every token gives the discriminator a signal, instead of the 15% that are masked, and it never reads `[MASK]`. Both are
trained together, the generator by MLM, on the same embeddings; the discriminator is the model that is kept.

Source: Clark et al. 2020, sections 2 and 3.2.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from bertviz_lab.config import IGNORE_INDEX, BertConfig
from bertviz_lab.data.pretraining.batches import PretrainingBatch
from bertviz_lab.model import BertForMaskedLM, BertForReplacedTokenDetection
from bertviz_lab.model.families.replaced_tokens import replaced_token_loss
from bertviz_lab.model.losses import cross_entropy
from bertviz_lab.training.loop.evaluation import count_correct
from bertviz_lab.training.loop.loop import StepOutput

#: Of the discriminator's loss in the sum: it is far smaller than the generator's, a choice of two for every token.
RTD_WEIGHT = 50.0
#: The generator's folder, beside the discriminator's files in a checkpoint and beside its folder in a run.
GENERATOR = "generator"


@dataclass(frozen=True)
class ReplacedTokens:
    """What generator and discriminator make of a masked batch."""

    generator_logits: Tensor  # (batch, masked positions, vocabulary)
    discriminator_logits: Tensor  # (batch, tokens): above 0 where a token seems replaced
    labels: Tensor  # (batch, tokens): 1 where the generator replaced the token, 0 elsewhere, -100 in the padding


class GeneratorAndDiscriminator(nn.Module):
    """The two models, on the same embeddings: tokens, positions, segments and the LayerNorm over their sum."""

    def __init__(self, config: BertConfig, generator_config: BertConfig, seed: int) -> None:
        super().__init__()
        random = torch.Generator().manual_seed(seed)
        self.discriminator = BertForReplacedTokenDetection(config, generator=random)
        self.generator = BertForMaskedLM(generator_config, generator=random)
        own, shared = self.generator.bert.embeddings, self.discriminator.bert.embeddings
        own.word, own.position, own.token_type, own.norm = shared.word, shared.position, shared.token_type, shared.norm

    def forward(self, batch: PretrainingBatch) -> ReplacedTokens:
        """Fill the masks and detect what was filled in.

        No gradient flows from the discriminator to the generator: a token that was drawn has none.
        """
        ids, mask, segments = batch.input_ids, batch.attention_mask, batch.token_type_ids
        logits = self.generator(ids, mask, segments, masked_positions=batch.masked_positions).logits
        original = with_tokens(ids, batch, batch.labels)
        corrupted = with_tokens(ids, batch, sample_tokens(logits, batch.draws))
        labels = (corrupted != original).long()  # a sample that is the original counts as original
        if mask is not None:
            labels = labels.masked_fill(~mask, IGNORE_INDEX)
        return ReplacedTokens(logits, self.discriminator(corrupted, mask, segments).logits, labels)


def with_tokens(ids: Tensor, batch: PretrainingBatch, tokens: Tensor) -> Tensor:
    """Return the ids (batch, tokens) with `tokens` (batch, masked positions) in the places that were chosen."""
    kept = ids.gather(1, batch.masked_positions)  # unused places point at token 0, which is never chosen
    return ids.scatter(1, batch.masked_positions, torch.where(batch.labels != IGNORE_INDEX, tokens, kept))


@torch.no_grad()
def sample_tokens(logits: Tensor, draws: Tensor) -> Tensor:
    """Draw a token of each softmax distribution, (..., vocabulary) to (...), by `draws` from 0 to 1, (...).

    The draws come with the batch, as its masks do, so that neither a resumed run nor one of several processes differs.
    """
    cumulative = logits.float().softmax(-1).cumsum(-1)
    tokens = torch.searchsorted(cumulative, draws[..., None] * cumulative[..., -1:], right=True)
    return tokens.squeeze(-1).clamp(max=logits.shape[-1] - 1)


def replaced_token_step(model: nn.Module, batch: PretrainingBatch, measure: bool) -> StepOutput:
    """Return this part's share of the generator's mean MLM loss and `RTD_WEIGHT` times the discriminator's."""
    out = model(batch)
    count = max(1, batch.label_count)
    mlm_loss = cross_entropy(out.generator_logits, batch.labels, count)
    rtd_loss = replaced_token_loss(out.discriminator_logits, out.labels, batch.token_count)
    metrics = {"mlm_loss": mlm_loss, "rtd_loss": rtd_loss}
    if measure:
        metrics["mlm_accuracy"] = count_correct(out.generator_logits, batch.labels) / count
        metrics["rtd_accuracy"] = count_correct(as_classes(out.discriminator_logits), out.labels) / batch.token_count
    return StepOutput(mlm_loss + RTD_WEIGHT * rtd_loss, metrics)


def as_classes(logits: Tensor) -> Tensor:
    """Return logits (batch, tokens) of being replaced as those of two classes: the binary cross-entropy is theirs."""
    return torch.stack([torch.zeros_like(logits), logits], -1)
