"""From documents to sentence pairs: google-research/bert, `create_pretraining_data.py`, step by step.

A and B are runs of whole sentences, so an example is four offsets into the corpus and a label: a table of them
is small, can be shuffled as a whole, and becomes token ids only in its batch. Three kinds of examples: "nsp"
(is B what follows A, or from elsewhere?), "sop" (do A and B stand in their order, or swapped? ALBERT, Lan et al.
2019) and "" (no pairs at all).
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from bertviz_lab.data.batches import order_in_groups
from bertviz_lab.data.pretraining.tokenized_corpus import CorpusView
from bertviz_lab.tokenization.encoding import truncated_lengths

#: Columns of a table of examples: where A and B start and end in the corpus's ids, and the label of the pair.
A_START, A_END, B_START, B_END, LABEL = range(5)
IS_NEXT, IS_RANDOM, NO_LABEL = 0, 1, -100
IN_ORDER, SWAPPED = 0, 1  # the labels of "sop"

_SHARD = 4_096  # documents planned at once: bounds the memory, and the wait for the first batch

Examples = NDArray[np.int64]  # (examples, 5)
_Row = tuple[int, int, int, int, int]  # of such a table


def plan_epoch(
    documents: CorpusView,
    rng: np.random.Generator,
    seq_len: int,
    short_seq_probability: float = 0.1,
    pairs: str = "nsp",
    balanced: bool = False,
    single_share: float = 0.0,
) -> Iterator[Examples]:
    """Yield one pass over the shuffled documents, as tables of examples, each table shuffled.

    Google's code draws more random next sentences than true ones, because a sentence without a successor can only
    get a random one. With `balanced` each table has as many true as random next sentences, and so has any part of it;
    where sentences without a successor outnumber the true pairs, the rest of them are one text without a second. Of the
    "nsp" examples `single_share` are so too. Such examples have no label. Next-sentence pairs need a second document to
    draw from.
    """
    order = rng.permutation(len(documents))
    longest = seq_len - 3 if pairs else seq_len - 2  # the room besides [CLS] and each [SEP]
    for start in range(0, len(order), _SHARD):
        rows: list[_Row] = []
        coin = _Coin(rng, balanced)
        for index in order[start : start + _SHARD].tolist():
            bounds = documents.sentence_bounds(index).tolist()
            is_short = rng.random() < short_seq_probability
            target = int(rng.integers(2, longest + 1)) if is_short else longest
            if pairs == "nsp":
                rows.extend(_pairs(documents, index, bounds, target, longest, rng, coin, single_share))
            elif pairs == "sop":
                rows.extend(_ordered(bounds, target, longest, rng))
            else:
                rows.extend(_runs(bounds, target, longest))
        table = rng.permutation(np.array(rows, dtype=np.int64).reshape(-1, 5))
        yield _balanced(table) if balanced and pairs == "nsp" else table


class _Coin:
    """Decide whether B is random: with a fair coin, as Google's code does, or `balanced`, by the label behind."""

    def __init__(self, rng: np.random.Generator, balanced: bool) -> None:
        self._rng, self._balanced = rng, balanced
        self._excess = 0  # random minus true next sentences so far
        self.shortest = 2 if balanced else 1  # sentences of a chunk: one that fills the room still gets its successor

    def is_random(self, gathered: int) -> bool:
        """Return whether a chunk of this many sentences gets a random B: always for one sentence."""
        random = gathered == 1 or bool(self._rng.random() < 0.5)
        if self._balanced and gathered > 1 and self._excess:
            random = self._excess < 0
        self._excess += 1 if random else -1
        return random


def _balanced(table: Examples) -> Examples:
    """Leave the second text out of random pairs that outnumber the true ones, and mix both kinds evenly."""
    is_random = table[:, LABEL] == IS_RANDOM
    surplus = is_random & (np.cumsum(is_random) > (table[:, LABEL] == IS_NEXT).sum())
    table[surplus, B_START:] = 0, 0, NO_LABEL
    return table[order_in_groups(np.arange(len(table)), table[:, LABEL])]


def _pairs(
    documents: CorpusView,
    index: int,
    bounds: list[int],
    target: int,
    longest: int,
    rng: np.random.Generator,
    coin: _Coin,
    single_share: float,
) -> Iterator[_Row]:
    """Yield the examples of one document, whose sentences have these `bounds`.

    A chunk of sentences has `target` tokens where the document has so many; an example has `longest` at most.
    """
    sentences = len(bounds) - 1
    first = 0  # first sentence of the chunk being gathered
    last = 0  # the sentence under the cursor
    while last < sentences:
        gathered = last - first + 1
        if last < sentences - 1 and (gathered < coin.shortest or bounds[last + 1] - bounds[first] < target):
            last += 1
            continue
        if single_share and rng.random() < single_share:
            last = first + int(rng.integers(gathered))  # the sentences after it are put back
            a, b = _truncate((bounds[first], bounds[last + 1]), (0, 0), longest + 1, rng)  # one [SEP] less
            yield (*a, *b, NO_LABEL)
            first = last = last + 1
            continue
        a_sentences = 1 if gathered == 1 else int(rng.integers(1, gathered))
        a = (bounds[first], bounds[first + a_sentences])
        if coin.is_random(gathered):
            b = _random_run(documents, index, rng, target - (a[1] - a[0]))
            label = IS_RANDOM
            last = first + a_sentences - 1  # the sentences of the chunk that were not used are put back
        else:
            b = (a[1], bounds[last + 1])
            label = IS_NEXT
        a, b = _truncate(a, b, longest, rng)
        yield (*a, *b, label)
        first = last = last + 1


def _ordered(bounds: list[int], target: int, longest: int, rng: np.random.Generator) -> Iterator[_Row]:
    """Sentence order: a chunk cut in two as above, and its halves swapped by a coin.

    A sentence alone has no order. ALBERT's code then falls back to a random B, which teaches topic, not order;
    here a chunk goes on to its second sentence, and one left over at the end of a document is not used.
    """
    first = 0
    for last in range(1, len(bounds) - 1):
        if last == first or (last < len(bounds) - 2 and bounds[last + 1] - bounds[first] < target):
            continue
        border = first + int(rng.integers(1, last - first + 1))
        swapped = rng.random() < 0.5
        front, back = (bounds[first], bounds[border]), (bounds[border], bounds[last + 1])
        a, b = _truncate(*((back, front) if swapped else (front, back)), longest, rng)
        yield (*a, *b, SWAPPED if swapped else IN_ORDER)
        first = last + 1


def _runs(bounds: list[int], target: int, longest: int) -> Iterator[_Row]:
    """Without next-sentence prediction: runs of whole sentences as A, and no B (RoBERTa's "doc-sentences")."""
    first = 0
    for last in range(len(bounds) - 1):
        if last < len(bounds) - 2 and bounds[last + 2] - bounds[first] <= target:
            continue
        for start in range(bounds[first], bounds[last + 1], longest):  # a sentence may exceed the room
            yield (start, min(start + longest, bounds[last + 1]), 0, 0, NO_LABEL)
        first = last + 1


def _random_run(documents: CorpusView, index: int, rng: np.random.Generator, target: int) -> tuple[int, int]:
    """Return sentences of another document from a random one on, until `target` tokens or that document's end."""
    other = int(rng.integers(len(documents) - 1))
    other += other >= index
    bounds = documents.sentence_bounds(other)
    start = int(rng.integers(len(bounds) - 1))
    end = int(np.searchsorted(bounds, bounds[start] + target, side="left"))
    end = min(max(end, start + 1), len(bounds) - 1)
    return int(bounds[start]), int(bounds[end])


def _truncate(
    a: tuple[int, int], b: tuple[int, int], longest: int, rng: np.random.Generator
) -> tuple[tuple[int, int], tuple[int, int]]:
    """Drop tokens from the longer side until both fit, each at the front or the back by a coin."""
    length_a, length_b = a[1] - a[0], b[1] - b[0]
    if length_a + length_b <= longest:
        return a, b
    keep_a, keep_b = truncated_lengths(length_a, length_b, longest)
    a_start = a[0] + int(rng.binomial(length_a - keep_a, 0.5))
    b_start = b[0] + int(rng.binomial(length_b - keep_b, 0.5))
    return (a_start, a_start + keep_a), (b_start, b_start + keep_b)
