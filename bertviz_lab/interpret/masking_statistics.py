"""Masking statistics: one sentence masked many times, and the counts beside what the rule expects."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bertviz_lab.data.pretraining.batches import masking_rule
from bertviz_lab.data.pretraining.masking import KEPT, MASKED, REPLACED, MaskingRule, mask_batch
from bertviz_lab.errors import InputError
from bertviz_lab.interpret.masking import OUTCOMES, encode_to_mask
from bertviz_lab.tokenization import Encoding, Tokenizer

MOST_DRAWS = 100_000
_DRAWS_AT_ONCE = 200_000  # tokens
_Z = 2.576  # a normal variable is that many deviations from its mean once in a hundred times


@dataclass(frozen=True)
class OutcomeCount:
    """How often something happened in many draws, beside what the rule makes one expect.

    Of a hundred such numbers one lies outside `low` to `high` by chance.
    """

    outcome: str
    observed: int
    expected: float
    low: float
    high: float


@dataclass(frozen=True)
class MaskingStatistics:
    """What became of the chosen tokens over many draws, and how often each token was chosen, (tokens,)."""

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
) -> MaskingStatistics:
    """Mask a sentence `draws` times and count.

    The bounds come from how much the draws differ among each other, which also holds where the pieces of a span
    share one fate. Raises `InputError` when there is no text, or for more than 100,000 draws.
    """
    if not 1 <= draws <= MOST_DRAWS:
        raise InputError(f"Draw between 1 and {MOST_DRAWS:,} times.")
    rule = rule or masking_rule(tokenizer)
    encoding = encode_to_mask(tokenizer, text_a, text_b, max_length)
    rng = np.random.default_rng(seed)
    kinds = (MASKED, REPLACED, KEPT)
    shares = (rule.mask_share, rule.random_share, rule.kept_share)
    counts = np.zeros(len(kinds), dtype=np.int64)
    squares = np.zeros(len(kinds))  # of each draw's distance from what its chosen tokens make one expect
    chosen = np.zeros(len(encoding), dtype=np.int64)
    rows = max(1, _DRAWS_AT_ONCE // len(encoding))
    for start in range(0, draws, rows):
        ids = np.tile(np.array(encoding.ids), (min(rows, draws - start), 1))
        outcome_BL = mask_batch(ids, np.full(len(ids), len(encoding)), rule, rng).outcomes
        hit = (outcome_BL == MASKED) | (outcome_BL == REPLACED) | (outcome_BL == KEPT)
        chosen += hit.sum(0)
        each = np.stack([(outcome_BL == kind).sum(1) for kind in kinds])
        counts += each.sum(1)
        squares += ((each - hit.sum(1) * np.array(shares)[:, None]) ** 2).sum(1)
    total = int(chosen.sum())
    outcomes = []
    for kind, share, count, square in zip(kinds, shares, counts, squares, strict=True):
        # One draw tells nothing of how draws differ: then as if each token were drawn for itself.
        margin = _Z * math.sqrt(square if draws > 1 else total * share * (1 - share))
        low, high = max(0.0, total * share - margin), min(float(total), total * share + margin)
        outcomes.append(OutcomeCount(OUTCOMES[kind], int(count), total * share, low, high))
    return MaskingStatistics(encoding, draws, total, tuple(outcomes), chosen / draws)
