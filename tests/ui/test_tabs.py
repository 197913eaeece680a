import json
import time

import numpy as np
import pytest

from bertviz_lab.figures.payload import Payload, message_payload, to_json
from bertviz_lab.ui.app_state import AppState
from bertviz_lab.ui.error_handling import picked, picture
from bertviz_lab.ui.tabs import input, masking, vectors

A, B = "the red cat sat", "she gave him the book"


def test_vectors_of_sentences_words_and_a_word_in_two_sentences(session: AppState) -> None:
    lines = f"{A}\n\n{B}\n{A}"
    body = json.loads(vectors.alike(session, "", lines, "mean"))
    assert len(body["rows"]) == 3
    assert body["values"][0][2] == pytest.approx(1, abs=1e-5)
    assert len(json.loads(vectors.mapped(session, "", lines, "cls"))["points"]) == 3
    assert len(json.loads(vectors.neighbours(session, "", "red"))["groups"]) == 10
    moved, way = vectors.moved(session, "", A, "a small red dog ran", "red")
    assert json.loads(moved)["places"][0] == "embeddings"
    assert len(json.loads(way)["points"]) == 6


def test_vectors_of_nothing_and_of_too_much_are_one_sentence(session: AppState) -> None:
    for text, words in (("", "Type some sentences"), ("a\n" * 21, "too many"), ("x" * 60_000, "shorten")):
        assert words in json.loads(picture(vectors.alike)(session, "", text, "mean"))["message"]
    assert "not in the sentence" in json.loads(vectors.moved(session, "", A, B, "zebra")[0])["message"]


def test_sentences_that_the_page_filled_in_give_way_to_another_models(session: AppState) -> None:
    shown, sentences, *own, table = vectors.follow_model(session, "", "", "", "mean", "", "", "", "")
    assert json.loads(table)["kind"] == "matrix"
    _, kept, *_ = vectors.follow_model(session, "", shown, "my own", "mean", *own)
    assert not isinstance(kept, str)
    assert sentences


def test_the_masks_are_counted_repeated_and_paid_for(session: AppState) -> None:
    knobs = (15, 80, 10, "tokens", 1)
    counts = json.loads(masking.counted(session, "", A, *knobs, 1000))
    assert sum(counts["series"][0]["values"]) == pytest.approx(1, abs=1e-6)
    passes = json.loads(masking.over_passes(session, "", A, *knobs, "static"))
    assert passes["link"] | {"part": "passes", "unit": "tokens", "seed": "1", "static": "static"} == passes["link"]
    assert passes["values"][0] == passes["values"][3]
    paid = json.loads(masking.cost(session, "", A, *knobs))
    losses = [value for value in paid["rows"][1]["values"] if value is not None]
    assert len(losses) == 1
    assert f"{np.mean(losses):.2f} nats" in paid["title"]


def test_the_three_vectors_of_each_token_are_shown(session: AppState) -> None:
    body = json.loads(input.embeddings(session, "", A, B))
    labels = [row["label"] for row in body["rows"]]
    assert labels == ["token", "segment", "position", "sum", "cos token", "cos segment", "cos position"]


def test_a_text_of_thousands_of_words_is_cut_not_refused(session: AppState) -> None:
    longest = session.models.open().config.max_position_embeddings
    body = json.loads(input.tokens(session, "", "word " * 5000, ""))
    assert len(body["columns"]) == longest
    assert len(body["dropped"][0]) > 4000


def test_the_words_of_both_sentences_are_explained(session: AppState) -> None:
    body = json.loads(input.splitting(session, "", "unbelievably red", "cats"))
    assert [word["word"] for word in body["words"]] == ["unbelievably", "red", "cats"]
    for word in body["words"]:
        for step in word["steps"]:
            assert step["tried"][-1] == step["found"]


def test_long_words_and_texts_are_explained_in_part(session: AppState) -> None:
    body = json.loads(input.splitting(session, "", "x" * 90, ""))
    assert all(len(step["tried"]) <= 12 for word in body["words"] for step in word["steps"])
    body = json.loads(input.splitting(session, "", "red " * 500, ""))
    assert body["more"] == 440


def test_the_same_seed_gives_the_same_masks_and_the_button_another(session: AppState) -> None:
    knobs = (15, 80, 10, "tokens", 3)
    first = masking.masked(session, "", A, *knobs)
    assert first == masking.masked(session, "", A, *knobs)
    seed, second = masking.mask_again(session, "", A, *knobs)
    assert seed == 4
    again = json.loads(masking.masked(session, "", A, 15, 80, 10, "tokens", 4))
    assert json.loads(second) == again | {"asked": json.loads(second)["asked"]}


def test_a_picture_knows_when_it_was_asked_for() -> None:
    moments = []

    def slow() -> Payload:
        moments.append(1000 * time.time())
        return to_json({"title": "x"})

    early = json.loads(picture(slow)())["asked"]
    late = json.loads(picture(picture(slow))())["asked"]
    assert moments[0] - 1000 < early <= moments[0] < late <= moments[1]


@pytest.mark.parametrize(
    ("text", "knobs", "words"),
    [
        ("", (15, 80, 10, "tokens", 0), "Type a sentence"),
        (A, (15, 80, 30, "tokens", 0), "exceed 100 percent"),
        (A, (0, 80, 10, "tokens", 0), "above 0"),
        (A, (15, 80, 10, "tokens", None), ""),
        (A, (15, 80, 10, "words", -7), ""),
    ],
)
def test_impossible_rules_are_one_sentence(session: AppState, text: str, knobs: tuple, words: str) -> None:
    body = json.loads(picture(masking.masked)(session, "", text, *knobs))
    assert words in body.get("message", "")
    assert bool(words) == ("message" in body)


def test_every_tab_says_what_is_wrong_with_a_model_and_leaves_the_fields_alone(session: AppState) -> None:
    for follow, fields in (
        (input.follow_model, ("", A, B)),
        (masking.follow_model, ("", A, 15, 80, 10, "tokens", 0)),
    ):
        answers = [answer for answer in follow(session, "/no/such/folder", *fields) if isinstance(answer, str)]
        assert any("no model" in json.loads(answer)["message"] for answer in answers if answer)
        assert A not in answers


def test_a_mistake_of_the_page_is_a_sentence_too_and_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    def broken() -> str:
        raise KeyError("oh")

    answer = picture(broken)()
    assert "KeyError" in answer
    assert "still alive" in answer
    assert "failed" in caplog.text
    assert answer.startswith(message_payload("")[:11])


def test_what_a_click_brings_is_only_ever_text() -> None:
    assert picked({"texts": ["a"]}, 2) == ("a", "")
    assert picked({"texts": ["a", "b", "c"]}, 2) == ("a", "b")
    assert picked({"texts": [1, None, "b"]}, 1) == ("b",)
    assert picked({}, 1) == ("",)


def test_a_model_of_few_positions_masks_what_it_reads(session: AppState) -> None:
    longest = session.models.open().config.max_position_embeddings
    knobs = (15, 80, 10, "tokens", 1)
    text = "the red cat " * 400
    assert len(json.loads(masking.masked(session, "", text, *knobs))["columns"]) == longest
    assert json.loads(masking.cost(session, "", text, *knobs))["rows"]
    assert json.loads(masking.counted(session, "", text, *knobs, 100))["series"]
    assert len(json.loads(masking.over_passes(session, "", text, *knobs, "static"))["columns"]) == longest
