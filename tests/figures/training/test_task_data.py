"""Payloads of the preview, the list of examples and the marked text."""

import json
from types import SimpleNamespace

import pytest

from bertviz_lab.figures.strips import marked_payload
from bertviz_lab.figures.training.data import examples_payload, label_item, preview_payload, words_item
from tests.ui.components import tuned


def test_columns_are_named_by_their_role_or_number() -> None:
    body = json.loads(preview_payload(tuned.table()))
    assert (body["kind"], [column["role"] for column in body["columns"]]) == ("table", ["", "a", "label", ""])
    assert len(body["rows"][0][1]) < len(tuned.table().rows[0][1])
    assert "with commas as delimiter, with a header row" in body["sentence"]
    bare = tuned.table()
    bare.columns, bare.text_a, bare.label, bare.header = (), "2", "3", False
    body = json.loads(preview_payload(bare))
    assert {column["name"]: column["role"] for column in body["columns"]} == {"1": "", "2": "a", "3": "label", "4": ""}
    assert "no header row" in body["sentence"]
    bare.rows = ()
    assert "message" in json.loads(preview_payload(bare))


def test_words_stand_with_their_labels_and_questions_with_their_answers() -> None:
    words = json.loads(preview_payload(*tuned.sentence_data()))
    assert words["sentences"][0][:2] == [["Ada", "B-PER"], ["Lovelace", "I-PER"]]
    questions = json.loads(preview_payload(*tuned.question_data()))
    asked = [["When does it open?", "at nine; nine"], ["Who owns it?", "(not in the passage)"]]
    assert [row[1:] for row in questions["rows"]] == asked


def test_examples_know_whether_they_are_right() -> None:
    items = [*tuned.classified(2), *tuned.tagged(), *tuned.answered(), *tuned.numbers()]
    body = json.loads(examples_payload(items, title="T"))["items"]
    assert [item.get("right") for item in body] == [False, True, False, True, False, True, None, None, None]
    assert body[2]["facts"] == [["", "1 wrong label"]]
    assert body[0]["index"] == 1000


def test_long_texts_are_cut_and_unequal_labels_refused() -> None:
    long = label_item(index=0, text="x" * 5000, truth="a", predicted="a", probability=1.0)
    assert len(json.loads(examples_payload([long], title="T"))["items"][0]["texts"][0]) < 1000
    with pytest.raises(ValueError, match="zip"):
        words_item(0, ("Ada", "lives"), ("O",), ("O", "O"))


def test_marks_are_in_the_order_of_the_text_and_no_answer_needs_no_place() -> None:
    body = json.loads(marked_payload(tuned.TEXT, tuned.entities(), title="T"))
    starts = [span["start"] for span in body["spans"]]
    assert starts == sorted(starts)
    assert body["chosen"] is None
    none = SimpleNamespace(text="", start=0, end=0, probability=0.4)
    body = json.loads(marked_payload("abc", [], [none], title="T"))
    assert body["alternatives"][0]["text"] == ""
    assert body["chosen"] == 0
