"""Near-duplicates are found whatever their order, and none is missed."""

import itertools
import random

from bertviz_lab.data.examples import LabelledText
from bertviz_lab.data.tasks.near_duplicates import near_duplicates


def texts(*lines: str) -> list[LabelledText]:
    return [LabelledText(line, None, "a", row) for row, line in enumerate(lines, 1)]


def test_case_signs_and_order_make_no_difference() -> None:
    assert list(near_duplicates(texts("The cat sat.", "a dog", "Sat: the CAT"))) == [(1.0, (0, 2))]


def test_one_word_of_ten_makes_texts_nearly_the_same() -> None:
    line = "one two three four five six seven eight nine"
    assert list(near_duplicates(texts(line, f"{line} ten", "one two three"))) == [(0.9, (0, 1))]


def test_words_of_han_characters_are_compared_one_by_one() -> None:
    assert list(near_duplicates(texts("我喜欢这部电影", "我喜欢这部电影了"))) == [(7 / 8, (0, 1))]


def test_the_texts_of_a_pair_are_not_mixed_up() -> None:
    pairs = [LabelledText("a b", "c d", "x", 1), LabelledText("c d", "a b", "x", 2)]
    assert list(near_duplicates(pairs)) == []


def test_all_pairs_that_comparing_each_with_each_finds_are_found() -> None:
    rng = random.Random(0)
    lines = [" ".join(rng.sample("abcdefghijkl", rng.randint(4, 8))) for _ in range(120)]
    sets = list(dict.fromkeys(frozenset(line.split()) for line in lines))
    for least in (0.5, 0.75, 0.8):
        expected = {
            frozenset(p) for p in itertools.combinations(sets, 2) if len(p[0] & p[1]) >= least * len(p[0] | p[1])
        }
        found = [a for a in near_duplicates(texts(*lines), least) if a.share < 1]
        assert {frozenset(frozenset(lines[n].split()) for n in a.places) for a in found} == expected
        assert len(found) == len(expected)
