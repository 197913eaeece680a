"""The 80/10/10 rule on one sentence: the code that masks in training, with its outcomes."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from bertviz_lab.data.pretraining.batches import masking_rule
from bertviz_lab.data.pretraining.masking import KEPT, MASKED, NOT_CHOSEN, REPLACED, SPECIAL, MaskingRule, mask_batch
from bertviz_lab.errors import InputError
from bertviz_lab.interpret.inputs import OnProgress, analysis, backbone, nothing
from bertviz_lab.interpret.predictions import Candidate, candidates_of
from bertviz_lab.interpret.targets import head_scores, require_head
from bertviz_lab.tokenization import Encoding, Tokenizer
from bertviz_lab.training.checkpoints.checkpoint import Checkpoint

#: Names of the outcomes.
OUTCOMES = {SPECIAL: "special", NOT_CHOSEN: "not chosen", MASKED: "mask", REPLACED: "random", KEPT: "kept"}


@dataclass(frozen=True)
class MaskedText:
    """A text before and after masking, position by position."""

    encoding: Encoding  # before
    outcomes: tuple[str, ...]  # special, not chosen, mask, random, kept
    input_tokens: tuple[str, ...]  # what the model is given
    input_ids: tuple[int, ...]
    labels: tuple[int, ...]  # the original id at chosen positions, -100 elsewhere


def encode_to_mask(tokenizer: Tokenizer, text_a: str, text_b: str | None, max_length: int | None) -> Encoding:
    """Return the encoding of a text or pair. Raises `InputError` when there is no text."""
    if not text_a.strip() and not (text_b or "").strip():
        raise InputError("Type a sentence first.")
    return tokenizer.encode(text_a, text_b or None, max_length=max_length)


def mask_text(
    tokenizer: Tokenizer,
    text_a: str,
    text_b: str | None = None,
    *,
    seed: int | Sequence[int],
    rule: MaskingRule | None = None,
    max_length: int | None = 512,
) -> MaskedText:
    """Mask a sentence, or a pair, as pretraining would; the same seed gives the same masks.

    A tokenizer does not know how much its model reads, so a longer text is truncated to 512 tokens, as BERT's: give
    `Checkpoint.max_length` for another model; None truncates nothing. Raises `InputError` when there is no text.
    """
    encoding = encode_to_mask(tokenizer, text_a, text_b, max_length)
    size = np.array([len(encoding)])
    masked = mask_batch(np.array([encoding.ids]), size, rule or masking_rule(tokenizer), np.random.default_rng(seed))
    labels = np.full(len(encoding), -100)
    used = masked.labels[0] != -100
    labels[masked.positions[0][used]] = masked.labels[0][used]
    outcomes = tuple(OUTCOMES[outcome] for outcome in masked.outcomes[0].tolist())
    input_ids = tuple(masked.input_ids[0].tolist())
    return MaskedText(encoding, outcomes, tuple(map(tokenizer.token, input_ids)), input_ids, tuple(labels.tolist()))


def mask_epochs(
    tokenizer: Tokenizer,
    text_a: str,
    text_b: str | None = None,
    *,
    epochs: int,
    repeat_after: int | None,
    seed: int,
    rule: MaskingRule | None = None,
    max_length: int | None = 512,
) -> tuple[MaskedText, ...]:
    """Return the masks of one sentence, or pair, in successive epochs of training.

    With `repeat_after`, masks repeat after that many epochs, as in Google's files ("static" masking; the paper used ten
    copies); None draws new ones in each epoch, as in RoBERTa ("dynamic"). The first epoch's masks are those of
    `mask_text`, whose `max_length` it is. Raises `InputError` without a text.
    """
    period = repeat_after or epochs
    return tuple(
        mask_text(tokenizer, text_a, text_b, seed=(seed, epoch % period), rule=rule, max_length=max_length)
        for epoch in range(epochs)
    )


@dataclass(frozen=True)
class PositionLoss:
    """The loss at one chosen position: -log of the probability of the original token, in nats."""

    position: int
    loss: float
    probability: float
    guess: Candidate


@dataclass(frozen=True)
class MaskedLoss:
    """The loss of a masked text; `mean` is the text's MLM loss, None where nothing was chosen."""

    positions: tuple[PositionLoss, ...]

    @property
    def mean(self) -> float | None:
        return sum(p.loss for p in self.positions) / len(self.positions) if self.positions else None


@analysis
def masked_loss(checkpoint: Checkpoint, masked: MaskedText) -> MaskedLoss:
    """Return the MLM loss at each chosen position. Raises `InputError` where the model has no masked-LM head."""
    require_head(checkpoint, "token")
    positions = [position for position, label in enumerate(masked.labels) if label != -100]
    if not positions:
        return MaskedLoss(())
    columns = (masked.input_ids, masked.encoding.attention_mask, masked.encoding.token_type_ids, positions)
    ids, mask, types, of_masks = (torch.tensor([row]) for row in columns)
    out = backbone(checkpoint)(ids, mask, types, masked_positions=of_masks)
    probabilities_PV = head_scores(checkpoint, "token", out.last_hidden_state[0])
    losses = []
    for position, row_V in zip(positions, probabilities_PV, strict=True):
        probability = float(row_V[masked.labels[position]])
        (guess,) = candidates_of(checkpoint.tokenizer, row_V, 1)
        losses.append(PositionLoss(position, -math.log(max(probability, 1e-38)), probability, guess))
    return MaskedLoss(tuple(losses))


MAX_DRAWN_TOKENS = 20_000_000
_TOKENS_PER_BATCH = 200_000
_Z = 2.576  # two-sided 99% quantile of the normal distribution


@dataclass(frozen=True)
class OutcomeCount:
    """Observed and expected number of tokens with an outcome; `low` to `high` is the 99% interval."""

    outcome: str
    observed: int
    expected: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class MaskingStatistics:
    """Outcomes of the chosen tokens over many draws."""

    encoding: Encoding
    draws: int
    chosen: int  # tokens, over all draws
    outcomes: tuple[OutcomeCount, ...]


def masking_statistics(
    tokenizer: Tokenizer,
    text_a: str,
    text_b: str | None = None,
    *,
    draws: int,
    seed: int,
    rule: MaskingRule | None = None,
    max_length: int | None = 512,
    on_progress: OnProgress = nothing,
) -> MaskingStatistics:
    """Mask a sentence `draws` times and count.

    The intervals use the variance between draws, which is also right where all tokens of a span have one outcome.
    `on_progress` is called with the share that is done, and may raise an exception to end. Raises `InputError` when
    there is no text, or for more than 20 million tokens in all.
    """
    rule = rule or masking_rule(tokenizer)
    encoding = encode_to_mask(tokenizer, text_a, text_b, max_length)
    if draws * len(encoding) > MAX_DRAWN_TOKENS:
        most = MAX_DRAWN_TOKENS // len(encoding)
        raise InputError(
            f"{draws:,} draws of {len(encoding):,} tokens are too many: draw {most:,} times, or shorten the text."
        )
    rng = np.random.default_rng(seed)
    codes = (MASKED, REPLACED, KEPT)
    shares = (rule.mask_share, rule.random_share, rule.kept_share)
    counts = np.zeros(len(codes), dtype=np.int64)
    squares = np.zeros(len(codes))  # of each draw's deviation from the expectation for its chosen tokens
    rows, total = max(1, _TOKENS_PER_BATCH // len(encoding)), 0
    for start in range(0, draws, rows):
        ids = np.tile(np.array(encoding.ids), (min(rows, draws - start), 1))
        outcome_BL = mask_batch(ids, np.full(len(ids), len(encoding)), rule, rng).outcomes
        chosen_BL = np.isin(outcome_BL, codes)
        total += int(chosen_BL.sum())
        per_draw = np.stack([(outcome_BL == code).sum(1) for code in codes])
        counts += per_draw.sum(1)
        squares += ((per_draw - chosen_BL.sum(1) * np.array(shares)[:, None]) ** 2).sum(1)
        on_progress((start + len(ids)) / draws)
    outcomes = []
    for code, share, count, square in zip(codes, shares, counts, squares, strict=True):
        # One draw has no variance: assume that tokens are independent.
        margin = _Z * math.sqrt(square if draws > 1 else total * share * (1 - share))
        low, high = max(0.0, total * share - margin), min(float(total), total * share + margin)
        outcomes.append(OutcomeCount(OUTCOMES[code], int(count), total * share, low, high))
    return MaskingStatistics(encoding, draws, total, tuple(outcomes))
