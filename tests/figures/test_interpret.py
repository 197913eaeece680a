"""Payloads of strips, fill-mask bars and attention: what is packed is what was found."""

import base64
import dataclasses
import json
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from bertviz_lab.figures.attention import WHOLE_MODEL_BYTES, attention_body, attention_payload
from bertviz_lab.figures.payload import figure
from bertviz_lab.tokenization import Tokenizer
from tests.charts import shown
from tests.ui.components.harness import SENTENCE, encoding, masked


def test_every_position_becomes_a_column():
    columns = shown(figure("tokens", encoding=encoding(SENTENCE, second=10, padding=2)))["columns"]
    told = {name: [column[name] for column in columns] for name in ("token", "mask", "segment", "special")}
    assert (told["token"], told["mask"]) == ([*SENTENCE, "[PAD]", "[PAD]"], [1] * 14 + [0] * 2)
    assert (told["segment"], told["special"].count(True)) == ([0] * 10 + [1] * 4 + [0] * 2, 5)


def test_pieces_of_a_word_share_it_and_words_of_b_are_other_words():
    columns = shown(figure("tokens", encoding=encoding(SENTENCE, second=10)))["columns"]
    assert columns[5]["word"] == columns[6]["word"] == columns[7]["word"] != columns[4]["word"]
    numbered_alike = dataclasses.replace(encoding(SENTENCE, second=10), word_ids=(0,) * 14)
    words = [column["word"] for column in shown(figure("tokens", encoding=numbered_alike))["columns"]]
    assert words[1] != words[10]


def test_surface_is_the_persons_own_text():
    columns = shown(figure("tokens", encoding=encoding(SENTENCE, second=10)))["columns"]
    assert "".join(columns[index]["surface"] for index in (5, 6, 7)) == "unbelievably"
    assert [columns[index]["spaced"] for index in (5, 6, 7, 8)] == [True, False, False, True]
    assert columns[0]["surface"] == ""


@pytest.mark.parametrize("algorithm", ["wordpiece", "bpe"])
def test_a_character_of_several_tokens_is_shown_once(algorithm):
    text = "The naïve 👩 sat"
    tokenizer = Tokenizer.train([text], vocab_size=300, algorithm=algorithm)
    body = shown(figure("tokens", encoding=tokenizer.encode(text, text)))
    for side in (0, 1):
        surfaces = [column["surface"] for column in body["columns"] if column["segment"] == side]
        assert "".join(surfaces) == text.replace(" ", "")
    words = {details[3] for details in body["details"] if len(details) > 3}
    assert words == ({"The", "naïve", "👩", "sat"} if algorithm == "bpe" else {"The", "naïve", "sat"})


def test_masking_counts_stand_beside_what_is_expected_and_only_chosen_positions_have_a_label():
    body = shown(figure("masking", mask_probability=0.2, mask_share=0.5, random_share=0.3, **vars(masked())))
    assert body["candidates"] == 11
    counts = {count["outcome"]: (count["observed"], count["expected"]) for count in body["counts"]}
    assert {name: seen for name, (seen, _) in counts.items()} == {"chosen": 3, "mask": 1, "random": 1, "kept": 1}
    # A fifth of 14 positions, rounded: BERT counts [CLS] and [SEP] in, although it never chooses them.
    assert counts["chosen"][1] == 3
    assert counts["random"][1] == pytest.approx(3 * 0.3)
    assert counts["kept"][1] == pytest.approx(3 * 0.2)
    columns = shown(figure("masking", **vars(masked())))["columns"]
    labels = {position: column["label"] for position, column in enumerate(columns) if column["label"]}
    assert labels == {3: "cat", 6: "##believ", 11: "was"}
    assert [columns[position]["given"] for position in (3, 6, 11)] == ["[MASK]", "tree", "was"]


def weights(layers: int, heads: int, size: int) -> NDArray[np.float32]:
    raw = np.random.default_rng(0).exponential(1.0, (layers, heads, size, size)) ** 3
    return (raw / raw.sum(-1, keepdims=True)).astype(np.float32)


def unpacked(text: str) -> tuple[dict[str, Any], NDArray[np.float64]]:
    body = json.loads(text)
    codes = np.frombuffer(base64.b64decode(body["cells"]), "<u2")
    size = len(body["tokens"])
    values = (codes.astype(float) / 65535) ** 2
    return body, values.reshape(len(body["sent"]), body["heads"], size, size)


def little_encoding(size: int) -> Any:
    tokens = [f"t{index}" for index in range(size)]
    return SimpleNamespace(tokens=tokens, token_type_ids=[0] * size, special_tokens_mask=[0] * size)


def test_weights_are_sent_right_to_four_digits():
    attention = weights(4, 4, 30)
    body, values = unpacked(attention_payload(attention_body(little_encoding(30), attention, "title")))
    assert (body["layers"], body["heads"], body["sent"]) == (4, 4, [*range(4)])
    assert np.abs(values - attention).max() < 2e-5


def test_long_text_sends_the_last_layer_unless_another_is_asked_for():
    attention = weights(2, 8, 520)
    assert 2 * attention.size > WHOLE_MODEL_BYTES
    assert unpacked(attention_payload(attention_body(little_encoding(520), attention)))[0]["sent"] == [1]
    body, values = unpacked(attention_payload(attention_body(little_encoding(520), attention, layers=[0])))
    assert body["sent"] == [0]
    assert np.abs(values[0] - attention[0]).max() < 2e-5


@pytest.mark.parametrize("value", [np.nan, -0.5, 1.5])
def test_numbers_that_are_no_weights_are_refused(value: float):
    attention = np.full((1, 1, 2, 2), 0.5, np.float32)
    attention[0, 0, 0, 0] = value
    with pytest.raises(ValueError, match="from 0 to 1"):
        attention_body(little_encoding(2), attention)
