"""Which probes suit a run: a model is asked about what its text is about, in words that its vocabulary has."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from bertviz_lab.data.probes.minimal_pairs import MinimalPair
from bertviz_lab.data.probes.probe_sets import PROBES, Probes
from bertviz_lab.data.probes.tiny_town_pairs import words
from bertviz_lab.tokenization import Tokenizer

#: A vocabulary that has the words of fewer of the pairs is of another language, or of another world.
_LEAST_SHARE = 0.5
#: Of a kind with fewer pairs left the share of right ones would tell too little.
_FEWEST = 6
_TINY_TOWN = "sample:tiny-town"


def probes_for(corpus: Sequence[str], tokenizer: Tokenizer) -> Probes | None:
    """The set that suits a run on a corpus, with the pairs that its vocabulary can be asked; None where none does.

    `corpus` are the entries of `PretrainConfig.corpus`. A run on Tiny Town alone is asked about Tiny Town, any other
    about English as far as its vocabulary is English.
    """
    return probes_that_fit("tiny-town" if set(corpus) == {_TINY_TOWN} else "english", tokenizer)


def probes_that_fit(name: str, tokenizer: Tokenizer) -> Probes | None:
    """The pairs of a set whose differing words are whole words of a vocabulary; None where fewer than half are.

    A word in two pieces against one in three would be a comparison of lengths. Kinds of which too little is left
    are left out too.
    """
    probes = PROBES[name]
    fitting = [pair for pair in probes.pairs if _fits(pair, tokenizer)]
    if len(fitting) < _LEAST_SHARE * len(probes.pairs):
        return None
    left = Counter(pair.kind for pair in fitting)
    kinds = {kind: title for kind, title in probes.kinds.items() if left[kind] >= _FEWEST}
    kept = tuple(pair for pair in fitting if pair.kind in kinds)
    return replace(probes, kinds=kinds, read=lambda: kept) if kept else None


def _fits(pair: MinimalPair, tokenizer: Tokenizer) -> bool:
    """Whether good and bad differ in as many tokens as words, all of them known."""
    if pair.position is None:
        return True
    good, bad = tokenizer.ids([pair.good, pair.bad])
    if len(good) != len(bad):
        return False
    different_tokens = [ids for ids in zip(good, bad, strict=True) if ids[0] != ids[1]]
    different_words = sum(a != b for a, b in zip(words(pair.good), words(pair.bad), strict=True))
    return len(different_tokens) == different_words and not any(tokenizer.unk_id in ids for ids in different_tokens)
