"""Payloads of the token strip, the masking strip and the fill-mask bars."""

import json
from types import SimpleNamespace

import pytest

from bertviz_lab.figures.interpret.masking import masking_payload
from bertviz_lab.figures.interpret.tokens import token_payload
from bertviz_lab.tokenization import Tokenizer
from tests.ui.components.harness import SENTENCE, encoding, masked


def test_every_position_becomes_a_column():
    columns = json.loads(token_payload(encoding(SENTENCE, second=10, padding=2)))["columns"]
    told = {name: [column[name] for column in columns] for name in ("token", "mask", "segment", "special")}
    assert (told["token"], told["mask"]) == ([*SENTENCE, "[PAD]", "[PAD]"], [1] * 14 + [0] * 2)
    assert (told["segment"], told["special"].count(True)) == ([0] * 10 + [1] * 4 + [0] * 2, 5)


def test_pieces_of_a_word_share_it_and_words_of_b_are_other_words():
    columns = json.loads(token_payload(encoding(SENTENCE, second=10)))["columns"]
    assert columns[5]["word"] == columns[6]["word"] == columns[7]["word"] != columns[4]["word"]
    numbered_alike = SimpleNamespace(**(vars(encoding(SENTENCE, second=10)) | {"word_ids": (0,) * 14}))
    words = [column["word"] for column in json.loads(token_payload(numbered_alike))["columns"]]
    assert words[1] != words[10]


def test_surface_is_the_persons_own_text():
    columns = json.loads(token_payload(encoding(SENTENCE, second=10)))["columns"]
    assert "".join(columns[index]["surface"] for index in (5, 6, 7)) == "unbelievably"
    assert [columns[index]["spaced"] for index in (5, 6, 7, 8)] == [True, False, False, True]
    assert columns[0]["surface"] == ""


@pytest.mark.parametrize("algorithm", ["wordpiece", "bpe"])
def test_a_character_of_several_tokens_is_shown_once(algorithm):
    text = "The naïve 👩 sat"
    tokenizer = Tokenizer.train([text], vocab_size=300, algorithm=algorithm)
    body = json.loads(token_payload(tokenizer.encode(text, text)))
    for side in (0, 1):
        surfaces = [column["surface"] for column in body["columns"] if column["segment"] == side]
        assert "".join(surfaces) == text.replace(" ", "")
    words = {details[3] for details in body["details"] if len(details) > 3}
    assert words == ({"The", "naïve", "👩", "sat"} if algorithm == "bpe" else {"The", "naïve", "sat"})


def test_masking_counts_stand_beside_what_is_expected_and_only_chosen_positions_have_a_label():
    body = json.loads(masking_payload(masked(), mask_probability=0.2, mask_share=0.5, random_share=0.3))
    assert body["candidates"] == 11
    counts = {count["outcome"]: (count["observed"], count["expected"]) for count in body["counts"]}
    assert {name: seen for name, (seen, _) in counts.items()} == {"chosen": 3, "mask": 1, "random": 1, "kept": 1}
    # A fifth of 14 positions, rounded: BERT counts [CLS] and [SEP] in, although it never chooses them.
    assert counts["chosen"][1] == 3
    assert counts["random"][1] == pytest.approx(3 * 0.3)
    assert counts["kept"][1] == pytest.approx(3 * 0.2)
    columns = json.loads(masking_payload(masked()))["columns"]
    labels = {position: column["label"] for position, column in enumerate(columns) if column["label"]}
    assert labels == {3: "cat", 6: "##believ", 11: "was"}
    assert [columns[position]["given"] for position in (3, 6, 11)] == ["[MASK]", "tree", "was"]
