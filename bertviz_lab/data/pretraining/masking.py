"""Which tokens are hidden, and how: 15% are chosen; of these 80% become [MASK], 10% a random token, 10% stay.

Three ways to choose: single tokens (Devlin et al. 2018), whole words (google-research/bert,
`do_whole_word_mask`), and spans of words (SpanBERT, Joshi et al. 2019, section 3.1).
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bertviz_lab.config import IGNORE_INDEX
from bertviz_lab.errors import InputError

# SpanBERT's lengths of spans: words until a coin of 0.2 says stop, ten at the most (a mean of 3.8).
_LONGEST_SPAN, _SPAN_ENDS = 10, 0.2

SPECIAL, NOT_CHOSEN, MASKED, REPLACED, KEPT = range(5)  # what became of a token


@dataclass(frozen=True)
class MaskingRule:
    """How tokens are chosen and what becomes of them (section 3.1, task 1; appendix A.1)."""

    mask_id: int
    vocab_size: int
    special_ids: frozenset[int]
    probability: float = 0.15
    probability_to: float = 0.0  # each text's own is drawn from `probability` to this, if it is larger
    mask_share: float = 0.8
    random_share: float = 0.1
    whole_word: bool = False
    spans: bool = False  # spans of words, which are always whole ones
    continuation: NDArray[np.bool_] | None = None  # (vocab,), True where a token continues a word

    def __post_init__(self) -> None:
        if not 0 < self.probability <= 1:
            raise InputError(f"The share of tokens to choose must be above 0 and at most 1, not {self.probability}.")
        if min(self.mask_share, self.random_share) < 0 or self.mask_share + self.random_share > 1 + 1e-9:
            raise InputError("The shares of [MASK] and of random tokens must not be negative nor exceed 1 together.")

    @property
    def kept_share(self) -> float:
        """Of the chosen tokens, those that stay as they are."""
        return max(0.0, 1.0 - self.mask_share - self.random_share)

    def predictions(self, lengths: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        """Return how many tokens are chosen of texts of these lengths (texts,): the rounded share, at least one.

        With `probability_to` each text has a share of its own, as in masked diffusion (Sahoo et al. 2024).
        """
        shares = np.full(lengths.shape, self.probability)
        if self.probability_to > self.probability:
            shares = rng.uniform(self.probability, self.probability_to, lengths.shape)
        return np.maximum(1, np.rint(shares * lengths)).astype(np.int64)

    @cached_property
    def special(self) -> NDArray[np.bool_]:
        """(vocabulary,): whether an id is a special token."""
        special = np.zeros(self.vocab_size, dtype=bool)
        special[list(self.special_ids)] = True
        return special

    @cached_property
    def ordinary_ids(self) -> NDArray[np.int64]:
        """The ids that a random token is drawn from."""
        return np.flatnonzero(~self.special)


@dataclass(frozen=True)
class Masked:
    """A batch after masking. Shapes: (batch, tokens), except positions and labels, (batch, predictions)."""

    input_ids: NDArray[np.int64]
    outcomes: NDArray[np.int8]
    positions: NDArray[np.int64]  # in rising order; unused places point at token 0
    labels: NDArray[np.int64]  # the true ids there; -100 in unused places


def mask_batch(
    ids: NDArray[np.int64], lengths: NDArray[np.int64], rule: MaskingRule, rng: np.random.Generator
) -> Masked:
    """Hide tokens of a padded batch (batch, tokens); special tokens and padding are never chosen."""
    real = np.arange(ids.shape[1]) < lengths[:, None]
    candidates = real & ~rule.special[ids]
    counts = rule.predictions(lengths, rng)
    width = max(1, int(counts.max()))

    decider = np.broadcast_to(np.arange(ids.shape[1]), ids.shape)  # whose draw decides what becomes of a token
    if rule.spans or rule.whole_word:
        chosen, span_start = _choose_words(ids, candidates, counts, rule, rng)
        decider = span_start if rule.spans else decider
    else:
        chosen = _choose_tokens(candidates, counts, rng)
    chosen_counts = chosen.sum(axis=1)
    positions = np.sort(np.where(chosen, np.arange(ids.shape[1]), ids.shape[1]), axis=1)[:, :width]
    used = np.arange(positions.shape[1]) < chosen_counts[:, None]
    positions = np.where(used, positions, 0)
    labels = np.where(used, np.take_along_axis(ids, positions, axis=1), IGNORE_INDEX)

    # One uniform draw a token or span, cut into three intervals: two draws would give 9%, not 10%.
    draw = np.take_along_axis(rng.random(ids.shape), decider, axis=1)
    random_ids = rule.ordinary_ids[rng.integers(len(rule.ordinary_ids), size=ids.shape)]
    masked = chosen & (draw < rule.mask_share)
    replaced = chosen & ~masked & (draw < rule.mask_share + rule.random_share)
    outcomes = np.full(ids.shape, SPECIAL, dtype=np.int8)
    outcomes[candidates] = NOT_CHOSEN
    outcomes[chosen] = KEPT
    outcomes[masked] = MASKED
    outcomes[replaced] = REPLACED
    input_ids = np.where(masked, rule.mask_id, np.where(replaced, random_ids, ids))
    return Masked(input_ids, outcomes, positions, labels)


def _choose_tokens(
    candidates: NDArray[np.bool_], counts: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Of each row the `counts` candidates with the smallest random numbers."""
    order = np.where(candidates, rng.random(candidates.shape), 2.0).argsort(axis=1)
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.arange(candidates.shape[1])[None], axis=1)
    return candidates & (rank < counts[:, None])


def _choose_words(
    ids: NDArray[np.int64],
    candidates: NDArray[np.bool_],
    counts: NDArray[np.int64],
    rule: MaskingRule,
    rng: np.random.Generator,
) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Return words in random order, each taken whole if it still fits, and in spans those after it as well.

    All rows take their next word at the same time. Returns (batch, tokens): whether a token is chosen, and where
    its span starts. A span ends early where there is no room for the next word, and where a special token, the
    end of the text or another span comes next. (SpanBERT cuts the last word to fit; here words stay whole.)
    """
    number, lengths, starts, joined = _find_words(ids, candidates, rule)
    longest = _LONGEST_SPAN if rule.spans else 1
    shares = (1 - _SPAN_ENDS) ** np.arange(longest)
    spans = 1 + rng.choice(longest, p=shares / shares.sum(), size=lengths.shape)
    order = np.where(lengths > 0, rng.random(lengths.shape), 2.0).argsort(axis=1)
    # Words of no length at the end, so that a span may be looked at beyond the last word.
    lengths = np.pad(lengths, ((0, 0), (0, longest)))
    joined = np.pad(joined, ((0, 0), (0, longest)))
    span_of = np.full(lengths.shape, -1)  # the first word of the span that a word was taken into
    offset, row, left = np.arange(longest), np.arange(len(ids))[:, None], counts.copy()
    for first, count in zip(order.T[:, :, None], spans.T[:, :, None], strict=True):
        if not left.any():
            break
        span = first + offset
        length = lengths[row, span]
        fits = (length > 0) & (np.cumsum(length, axis=1) <= left[:, None])
        fits &= (offset < count) & (span_of[row, span] < 0) & (joined[row, span] | (offset == 0))
        fits = np.logical_and.accumulate(fits, axis=1)
        span_of[row, span] = np.where(fits, first, span_of[row, span])
        left -= (length * fits).sum(axis=1)
    span = span_of[row, number]
    return candidates & (span >= 0), starts[row, np.maximum(span, 0)]


def _find_words(
    ids: NDArray[np.int64], candidates: NDArray[np.bool_], rule: MaskingRule
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    """Return runs of tokens of which all but the first continue a word; a special token ends a word.

    They are numbered from 0 in each row: (batch, tokens), the number of each token's word, 0 for none; and (batch,
    words), its length in tokens (0 where a row has fewer words), its first token, and whether it follows another.
    """
    assert rule.continuation is not None, "whole words are known by the tokens that continue one"
    after_token = np.pad(candidates, ((0, 0), (1, 0)))[:, :-1]
    begins = candidates & ~(rule.continuation[ids] & after_token)
    number = np.maximum(np.cumsum(begins, axis=1) - 1, 0)
    lengths = np.zeros((len(ids), max(1, int(begins.sum(axis=1).max()))), dtype=np.int64)
    rows, tokens = np.nonzero(candidates)
    np.add.at(lengths, (rows, number[rows, tokens]), 1)
    starts, joined = np.zeros_like(lengths), np.zeros(lengths.shape, dtype=bool)
    rows, tokens = np.nonzero(begins)
    starts[rows, number[rows, tokens]] = tokens
    joined[rows, number[rows, tokens]] = after_token[rows, tokens]
    return number, lengths, starts, joined
