"""Which tokens are hidden, and how: 15% are chosen; of these 80% become [MASK], 10% a random token, 10% stay."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

IGNORE = -100

SPECIAL, NOT_CHOSEN, MASKED, REPLACED, KEPT = range(5)  # what became of a token


@dataclass(frozen=True)
class MaskingRule:
    """How tokens are chosen and what becomes of them (section 3.1, task 1; appendix A.1)."""

    mask_id: int
    vocab_size: int
    special_ids: frozenset[int]
    probability: float = 0.15
    mask_share: float = 0.8
    random_share: float = 0.1
    whole_word: bool = False
    continuation: NDArray[np.bool_] | None = None  # (vocab,), True where a token continues a word

    def predictions(self, length: int) -> int:
        """How many tokens of a text are chosen: the share, rounded, and at least one."""
        return max(1, round(self.probability * length))


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
    special = np.zeros(rule.vocab_size, dtype=bool)
    special[list(rule.special_ids)] = True
    candidates = real & ~special[ids]
    wanted = np.array([rule.predictions(int(length)) for length in lengths])
    width = max(1, int(wanted.max()))

    choose = _choose_words if rule.whole_word else _choose_tokens
    chosen = choose(ids, candidates, wanted, rule, rng)
    count = chosen.sum(axis=1)
    positions = np.sort(np.where(chosen, np.arange(ids.shape[1]), ids.shape[1]), axis=1)[:, :width]
    used = np.arange(positions.shape[1]) < count[:, None]
    positions = np.where(used, positions, 0)
    labels = np.where(used, np.take_along_axis(ids, positions, axis=1), IGNORE)

    # One uniform draw a token, cut into three intervals: two draws would give 9%, not 10%.
    draw = rng.random(ids.shape)
    ordinary = np.flatnonzero(~special)
    random_ids = ordinary[rng.integers(len(ordinary), size=ids.shape)]
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
    ids: NDArray[np.int64],
    candidates: NDArray[np.bool_],
    wanted: NDArray[np.int64],
    rule: MaskingRule,
    rng: np.random.Generator,
) -> NDArray[np.bool_]:
    """The `wanted` candidates with the smallest random numbers, row by row."""
    order = np.where(candidates, rng.random(ids.shape), 2.0).argsort(axis=1)
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.arange(ids.shape[1])[None], axis=1)
    return candidates & (rank < wanted[:, None])


def _choose_words(
    ids: NDArray[np.int64],
    candidates: NDArray[np.bool_],
    wanted: NDArray[np.int64],
    rule: MaskingRule,
    rng: np.random.Generator,
) -> NDArray[np.bool_]:
    """Words in random order, each taken whole if it still fits, as in Google's `do_whole_word_mask`."""
    assert rule.continuation is not None, "whole-word masking needs to know which tokens continue a word"
    chosen = np.zeros_like(candidates)
    for row in range(len(ids)):
        places = np.flatnonzero(candidates[row])
        starts = ~rule.continuation[ids[row, places]]
        starts[:1] = True
        starts[1:] |= np.diff(places) > 1  # a special token ends a word
        words = np.split(places, np.flatnonzero(starts)[1:])
        left = int(wanted[row])
        for index in rng.permutation(len(words)):
            word = words[index]
            if 0 < len(word) <= left:
                chosen[row, word] = True
                left -= len(word)
    return chosen
