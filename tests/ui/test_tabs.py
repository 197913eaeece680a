import json

import numpy as np
import pytest

from bertviz_lab import BertForMaskedLM, interpret
from bertviz_lab.figures.payload import message_payload
from bertviz_lab.ui.session import Session
from bertviz_lab.ui.tabs import attention, input, masking
from bertviz_lab.ui.wiring import picked, picture
from tests.little import little_folder

A, B = "the red cat sat", "she gave him the book"


def test_the_grid_can_ask_for_the_exact_weights_of_a_head(session: Session) -> None:
    body = json.loads(attention.attention(session, "", A, B))
    trace = interpret.trace_text(session.models.open(), A, B)
    assert tuple(body["tokens"]) == trace.tokens
    import base64

    exact = np.frombuffer(base64.b64decode(attention.exact_values(session, body["key"], 1, 0)), "<f4")
    np.testing.assert_array_equal(exact.reshape(len(trace.tokens), -1), trace.attentions[1, 0])
    assert attention.layer_values(session, body["key"], 1)
    for layer, head in ((2, 0), (0, 2), (-1, 0)):
        assert attention.exact_values(session, body["key"], layer, head) == ""
    assert attention.exact_values(session, "unknown", 0, 0) == attention.layer_values(session, "unknown", 0) == ""


def test_the_next_sentence_line_is_there_only_where_it_has_an_answer(session: Session) -> None:
    verdict, _ = attention.look(session, "", A, B)
    shares = [float(value.rstrip("%")) for _, value in json.loads(verdict)["items"]]
    assert sum(shares) == pytest.approx(100, abs=0.2)
    assert attention.look(session, "", A, "")[0] == ""
    little_folder(session.settings.checkpoints / "mlm", kind=BertForMaskedLM)
    verdict, grid = attention.look(session, "mlm", A, B)
    assert verdict == ""
    assert json.loads(grid)["cells"]


def test_a_text_of_thousands_of_words_is_cut_not_refused(session: Session) -> None:
    longest = session.models.open().config.max_position_embeddings
    assert len(json.loads(attention.attention(session, "", "word " * 5000, ""))["tokens"]) == longest
    body = json.loads(input.tokens(session, "", "word " * 5000, ""))
    assert len(body["columns"]) == longest
    assert len(body["dropped"][0]) > 4000


def test_the_words_of_both_sentences_are_explained(session: Session) -> None:
    body = json.loads(input.splitting(session, "", "unbelievably red", "cats"))
    assert [word["word"] for word in body["words"]] == ["unbelievably", "red", "cats"]
    for word in body["words"]:
        for step in word["steps"]:
            assert step["tried"][-1] == step["found"]


def test_long_words_and_texts_are_explained_in_part(session: Session) -> None:
    body = json.loads(input.splitting(session, "", "x" * 90, ""))
    assert all(len(step["tried"]) <= 12 for word in body["words"] for step in word["steps"])
    body = json.loads(input.splitting(session, "", "red " * 500, ""))
    assert body["more"] == 440


def test_the_same_seed_gives_the_same_masks_and_the_button_another(session: Session) -> None:
    knobs = (15, 80, 10, False, 3)
    first = masking.masked(session, "", A, *knobs)
    assert first == masking.masked(session, "", A, *knobs)
    seed, second = masking.mask_again(session, "", A, *knobs)
    assert seed == 4
    assert second == masking.masked(session, "", A, 15, 80, 10, False, 4)


@pytest.mark.parametrize(
    ("text", "knobs", "words"),
    [
        ("", (15, 80, 10, False, 0), "Type a sentence"),
        (A, (15, 80, 30, False, 0), "more than all"),
        (A, (0, 80, 10, False, 0), "above 0"),
        (A, (15, 80, 10, False, None), ""),
        (A, (15, 80, 10, True, -7), ""),
    ],
)
def test_impossible_rules_are_one_sentence(session: Session, text: str, knobs: tuple, words: str) -> None:
    body = json.loads(picture(masking.masked)(session, "", text, *knobs))
    assert words in body.get("message", "")
    assert bool(words) == ("message" in body)


def test_every_tab_says_what_is_wrong_with_a_model_and_leaves_the_fields_alone(session: Session) -> None:
    for follow, fields in (
        (attention.follow_model, ("", A, B)),
        (input.follow_model, ("", A, B)),
        (masking.follow_model, ("", A, 15, 80, 10, False, 0)),
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
