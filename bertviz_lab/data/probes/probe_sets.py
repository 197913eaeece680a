"""The sets of probes: Tiny Town's, whose truth is known, and plain English ones.

Source: minimal pairs as a test of grammar follow Marvin and Linzen 2018 and BLiMP (Warstadt et al. 2020); the sentences
are this project's own. Of two words that are set against each other each is the right one equally often, so that
who always prefers the commoner word is right half of the time.
"""

import csv
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from itertools import zip_longest

from bertviz_lab.data.probes.minimal_pairs import MinimalPair
from bertviz_lab.data.probes.tiny_town_pairs import KINDS, minimal_pairs, words

#: Pairs of each kind that are asked about Tiny Town: a share is known to a twelfth, and asking is quick.
_OF_EACH_KIND = 12
#: Pairs of each kind to choose them from, so that there are enough whose words are the other way round in another.
_DRAWN = 80


@dataclass(frozen=True)
class Probes:
    """A set of pairs, by kind. A pair without a position is a question to the next-sentence head.

    Attributes:
        name: how events and the command line call it.
        title: how the page calls it.
        kinds: kind -> the name of the phenomenon, to follow "passes".
        read: makes the pairs, kind after kind.
    """

    name: str
    title: str
    kinds: Mapping[str, str]
    read: Callable[[], tuple[MinimalPair, ...]]

    @cached_property
    def pairs(self) -> tuple[MinimalPair, ...]:
        """Every pair; made when they are first asked for."""
        return self.read()


def tiny_town_pairs() -> tuple[MinimalPair, ...]:
    """Pairs of held-out stories. In the stories many more verbs are singular than plural: here as many are."""
    drawn = minimal_pairs(0, _DRAWN)
    return tuple(pair for kind in KINDS for pair in _couples(p for p in drawn if p.kind == kind)[:_OF_EACH_KIND])


def _couples(pairs: Iterable[MinimalPair]) -> list[MinimalPair]:
    """Each pair with another that has the same two words the other way round; one couple of every two words first.

    Where not one word differs from one other there is nothing to balance: all pairs, as they come.
    """
    couples: dict[frozenset[str], list[list[MinimalPair]]] = defaultdict(list)
    waiting: dict[tuple[str, ...], list[MinimalPair]] = defaultdict(list)
    for pair in pairs:
        contrast = contrast_of(pair)
        if not contrast:
            couples[frozenset()].append([pair])
        elif waiting[contrast[::-1]]:
            couples[frozenset(contrast)].append([waiting[contrast[::-1]].pop(0), pair])
        else:
            waiting[contrast].append(pair)
    turns = zip_longest(*couples.values(), fillvalue=[])
    return [pair for turn in turns for couple in turn for pair in couple]


def contrast_of(pair: MinimalPair) -> tuple[str, ...]:
    """The good word and the bad one, in small letters; none where not one word differs from one other."""
    if pair.position is None:
        return ()
    word_pairs = zip(words(pair.good), words(pair.bad), strict=True)
    differ = [(good.lower(), bad.lower()) for good, bad in word_pairs if good != bad]
    return differ[0] if len(differ) == 1 else ()


def english_pairs() -> tuple[MinimalPair, ...]:
    """The pairs of english.tsv, in its order."""
    text = resources.files(__package__).joinpath("english.tsv").read_text(encoding="utf-8")
    return tuple(_pair(**row) for row in csv.DictReader(text.splitlines(), delimiter="\t"))


def _pair(kind: str, good: str, bad: str) -> MinimalPair:
    differs = [a != b for a, b in zip(words(good), words(bad), strict=True)]
    return MinimalPair(kind, "", good, bad, differs.index(True))


#: Every set by its name.
PROBES: Mapping[str, Probes] = {
    probes.name: probes
    for probes in (
        Probes(
            "tiny-town", "Tiny Town", KINDS | {"reflexive": "reflexive agreement (himself, herself)"}, tiny_town_pairs
        ),
        Probes(
            "english",
            "English",
            {
                "agreement": "subject-verb agreement",
                "agreement_distractor": "subject-verb agreement across a distractor",
                "reflexive": "reflexive agreement (himself, herself, themselves)",
                "pronoun_case": "pronoun case (he/him, they/them)",
                "article": "article choice (a/an)",
                "determiner": "determiner-noun agreement (this/these, much/many)",
                "negation": "negative polarity items (either, neither, ever)",
                "comparison": "comparatives (larger than, as large as)",
                "tense": "tense (yesterday, tomorrow)",
                "word_order": "word order",
            },
            english_pairs,
        ),
    )
}
