"""Whole sentences are held out of SST-2's phrases, with every phrase that is a part of one."""

from benchmarks.training_data.held_out_sentences import whole, without_parts

SENTENCES = ["a film that is never dull , and often moving .", "dull , and often dull ."]
PARTS = ["a film", "that is never dull", "never dull , and often moving", "dull , and often", "and often dull ."]


def test_whole_sentences_are_no_part_of_others():
    assert sorted(whole([*PARTS, *SENTENCES])) == sorted(SENTENCES)
    assert whole(["dull", "dullness", "a dullness"]) == ["a dullness", "dull"], "words, not letters"


def test_what_is_trained_on_shares_no_phrase_with_them_but_a_word_or_two():
    rows = [[text, "0"] for text in [*PARTS, *SENTENCES]]
    kept = [text for text, _ in without_parts(rows, SENTENCES[1:])]
    assert kept == ["a film", "that is never dull", "never dull , and often moving", SENTENCES[0]]
