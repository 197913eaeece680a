"""Masking statistics: one sentence masked many times, and the counts compared with their expectation."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bertviz_lab.data.pretraining.batches import masking_rule
from bertviz_lab.data.pretraining.masking import KEPT, MASKED, REPLACED, MaskingRule, mask_batch
from bertviz_lab.errors import InputError
from bertviz_lab.interpret.inputs import OnProgress, nothing
from bertviz_lab.interpret.masking import OUTCOMES, encode_to_mask
from bertviz_lab.tokenization import Encoding, Tokenizer

MAX_DRAWS, MAX_DRAWN_TOKENS = 100_000, 20_000_000
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
    """Outcomes of the chosen tokens over many draws, and how often each token was chosen, (tokens,)."""

    encoding: Encoding
    draws: int
    chosen: int  # tokens, over all draws
    outcomes: tuple[OutcomeCount, ...]
    chosen_share: NDArray[np.float64]


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
    there is no text, for more than 100,000 draws, or for more than 20 million tokens in all.
    """
    if not 1 <= draws <= MAX_DRAWS:
        raise InputError(f"Draw between 1 and {MAX_DRAWS:,} times.")
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
    chosen = np.zeros(len(encoding), dtype=np.int64)
    rows = max(1, _TOKENS_PER_BATCH // len(encoding))
    for start in range(0, draws, rows):
        ids = np.tile(np.array(encoding.ids), (min(rows, draws - start), 1))
        outcome_BL = mask_batch(ids, np.full(len(ids), len(encoding)), rule, rng).outcomes
        chosen_BL = (outcome_BL == MASKED) | (outcome_BL == REPLACED) | (outcome_BL == KEPT)
        chosen += chosen_BL.sum(0)
        per_draw = np.stack([(outcome_BL == code).sum(1) for code in codes])
        counts += per_draw.sum(1)
        squares += ((per_draw - chosen_BL.sum(1) * np.array(shares)[:, None]) ** 2).sum(1)
        on_progress((start + len(ids)) / draws)
    total = int(chosen.sum())
    outcomes = []
    for code, share, count, square in zip(codes, shares, counts, squares, strict=True):
        # One draw has no variance: assume that tokens are independent.
        margin = _Z * math.sqrt(square if draws > 1 else total * share * (1 - share))
        low, high = max(0.0, total * share - margin), min(float(total), total * share + margin)
        outcomes.append(OutcomeCount(OUTCOMES[code], int(count), total * share, low, high))
    return MaskingStatistics(encoding, draws, total, tuple(outcomes), chosen / draws)
