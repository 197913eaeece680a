"""The pairs that probe what was learnt: one place differs, the good one is true, the bad one is never said."""

from itertools import islice

import pytest

from bertviz_lab.data.probes.minimal_pairs import KINDS, MinimalPair, minimal_pairs, words
from bertviz_lab.data.samples.tiny_town import imagine, stories
from bertviz_lab.data.samples.tiny_town.world import COLOURS, FUR

PAIRS = minimal_pairs(0, 60)
HELD_OUT = [story.sentences for story in islice(imagine(0, held_out=True), 1500)]
TOLD = [*HELD_OUT, *(document.sentences for document in stories(0, 4000))]
SENTENCES = {sentence for sentences in TOLD for sentence in sentences}


def of(kind: str) -> list[MinimalPair]:
    return [pair for pair in PAIRS if pair.kind == kind]


def test_each_kind_has_as_many_different_pairs_as_asked_for() -> None:
    assert [len(set(of(kind))) for kind in KINDS] == [60] * len(KINDS)
    assert len(PAIRS) == 60 * len(KINDS)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "plot_order"])
def test_good_and_bad_differ_in_one_place(kind: str) -> None:
    width = 2 if kind == "word_order" else 1
    for pair in of(kind):
        good, bad = words(pair.good), words(pair.bad)
        assert pair.position is not None
        assert len(good) == len(bad)
        at = slice(pair.position, pair.position + width)
        assert good[: at.start] == bad[: at.start]
        assert good[at.stop :] == bad[at.stop :]
        assert good[at] != bad[at]
        assert sorted(good[at]) == sorted(bad[at]) or kind != "word_order"


def test_good_sentences_stand_after_their_context_in_a_held_out_story() -> None:
    told = [" ".join(sentences) for sentences in HELD_OUT]
    text = "\n".join(told)
    for pair in PAIRS:
        if pair.kind == "colour_copy":  # other sentences may stand between
            assert any(0 <= story.find(pair.context) < story.rfind(pair.good) for story in told)
        else:
            assert f"{pair.context} {pair.good}".strip() in text


@pytest.mark.parametrize("kind", ["agreement", "agreement_distractor", "pronoun", "reflexive", "word_order"])
def test_a_bad_sentence_that_needs_no_context_is_never_said(kind: str) -> None:
    for pair in of(kind):
        assert pair.context == ""
        assert pair.bad not in SENTENCES
        assert pair.good in SENTENCES


def test_the_right_colour_stands_in_the_context_and_the_wrong_one_nowhere() -> None:
    for pair in of("colour_copy"):
        right, wrong = (words(text)[pair.position or 0] for text in (pair.good, pair.bad))
        assert right in words(pair.context)
        assert wrong not in words(pair.context + " " + pair.good)
        assert right in COLOURS or right in FUR
        assert wrong in COLOURS or wrong in FUR


def test_what_happens_next_is_told_after_and_the_other_before() -> None:
    for pair in of("plot_order"):
        assert pair.position is None
        assert any(
            (pair.bad, pair.context, pair.good) == sentences[k - 1 : k + 2]
            for sentences in TOLD
            if pair.context in sentences
            for k in [sentences.index(pair.context)]
        )
