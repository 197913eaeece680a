"""Texts that are nearly the same, by the words that they share.

Two texts are alike where the Jaccard index of their sets of words is high. Comparing all pairs is not needed: sets of
m <= n words can only reach the index t where m >= t n, and where they share one of the n - ceil(t n) + 1 rarest words
of the larger one (the prefix filter of Chaudhuri et al. 2006; Bayardo et al. 2007), so the pairs found are all there
are.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from bertviz_lab.data.examples import Example
from bertviz_lab.data.tasks.split import text_keys

#: The least Jaccard index of texts that are called nearly the same.
ALIKE = 0.8
#: Han and kana are written without blanks: each character is a word.
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W\u3040-\u30ff\u3400-\u9fff]+")


class Alike(NamedTuple):
    """Examples with the same words, or two groups of such examples that are nearly the same."""

    share: float  # of all words that occur in them, those that are in both; 1 for the same words
    places: tuple[int, ...]  # of the examples


def near_duplicates(examples: Sequence[Example], least: float = ALIKE) -> Iterator[Alike]:
    """Yield all groups of examples whose sets of words have a Jaccard index of `least` or more."""
    groups: dict[frozenset[str], list[int]] = defaultdict(list)
    for place, key in enumerate(text_keys(examples)):
        words = frozenset(f"{part} {word}" for part, text in enumerate(key) for word in _WORD.findall(text))
        if words:
            groups[words].append(place)
    for places in groups.values():
        if len(places) > 1:
            yield Alike(1.0, tuple(places))
    for share, first, second in _similar_sets(list(groups), least):
        yield Alike(share, (*groups[first], *groups[second]))


def _similar_sets(sets: list[frozenset[str]], least: float) -> Iterator[tuple[float, frozenset[str], frozenset[str]]]:
    """Yield all pairs of different sets with at least this Jaccard index."""
    counts = Counter(chain.from_iterable(sets))
    index: dict[str, list[frozenset[str]]] = defaultdict(list)  # sets by their rarest words
    for words in sorted(sets, key=len):
        rarest = sorted(words, key=lambda word: (counts[word], word))
        # Floating-point error must not lose a pair that is exactly as alike as asked for.
        rarest = rarest[: len(words) - math.ceil(least * len(words) - 1e-9) + 1]
        for other in dict.fromkeys(chain.from_iterable(index[word] for word in rarest)):
            if len(other) >= least * len(words) - 1e-9:
                shared = len(words & other)
                share = shared / (len(words) + len(other) - shared)
                if share >= least - 1e-9:
                    yield share, other, words
        for word in rarest:
            index[word].append(words)
