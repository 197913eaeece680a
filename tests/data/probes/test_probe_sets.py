"""The probes: each pair differs in one place, and no habit such as taking the commoner word answers them."""

import re
from collections import Counter

import pytest

from bertviz_lab.data.probes import PROBES
from bertviz_lab.data.probes.minimal_pairs import minimal_pairs, words
from bertviz_lab.data.probes.probe_sets import contrast_of

ENGLISH = PROBES["english"]
EVERY_KIND = [(name, kind) for name, probes in PROBES.items() for kind in probes.kinds]


@pytest.mark.parametrize("name", PROBES)
def test_every_kind_has_a_title_and_at_least_ten_different_pairs(name: str) -> None:
    probes = PROBES[name]
    assert len(set(probes.pairs)) == len(probes.pairs)
    counts = Counter(pair.kind for pair in probes.pairs)
    assert counts.keys() == probes.kinds.keys()
    assert min(counts.values()) >= 10
    assert all(re.fullmatch(r"[a-z].*[^.]", title) for title in probes.kinds.values()), "goes on after 'It can'"


def test_no_english_sentence_is_good_in_two_pairs_or_good_in_one_and_bad_in_another() -> None:
    good = [pair.good for pair in ENGLISH.pairs]
    bad = [pair.bad for pair in ENGLISH.pairs]
    assert len(set(good)) == len(good)
    assert len(set(bad)) == len(bad)
    assert not set(good) & set(bad)


def test_an_english_pair_is_two_short_sentences_that_differ_in_one_place() -> None:
    for pair in ENGLISH.pairs:
        good, bad = words(pair.good), words(pair.bad)
        places = [n for n, (one, other) in enumerate(zip(good, bad, strict=True)) if one != other]
        assert places[0] == pair.position
        if pair.kind == "word_order":
            first, second = places
            assert second == first + 1
            assert [good[first], good[second]] == [bad[second], bad[first]]
        else:
            assert len(places) == 1
        assert pair.context == ""
        for sentence in (pair.good, pair.bad):
            assert re.fullmatch(r"[A-Z](?:[A-Za-z,]| (?! ))*\.", sentence)
            assert len(words(sentence)) <= 11


@pytest.mark.parametrize(("name", "kind"), EVERY_KIND)
def test_of_two_words_each_is_the_right_one_equally_often(name: str, kind: str) -> None:
    contrasts = Counter(contrast_of(pair) for pair in PROBES[name].pairs if pair.kind == kind)
    if kind in ("word_order", "plot_order"):
        assert list(contrasts) == [()]
    else:
        assert all(contrasts[one, other] == contrasts[other, one] for one, other in contrasts)


def test_tiny_town_is_asked_a_dozen_pairs_of_each_kind_from_held_out_stories() -> None:
    pairs = PROBES["tiny-town"].pairs
    assert set(Counter(pair.kind for pair in pairs).values()) == {12}
    assert set(pairs) <= set(minimal_pairs(0, 80))
