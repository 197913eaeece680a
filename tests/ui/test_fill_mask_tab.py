import json

import pytest

from bertviz_lab.ui.app_state import AppState
from bertviz_lab.ui.comparison_model import BEFORE
from bertviz_lab.ui.error_handling import picture
from bertviz_lab.ui.tabs.fill_mask import beside, follow_model, predict, surprising, toggle, toggled
from tests.little import little_folder

TEXT = "the red cat sat on the mat"


def position_of(payload: str, surface: str) -> int:
    columns = json.loads(payload)["columns"]
    return next(place for place, column in enumerate(columns) if column["surface"] == surface)


def test_a_click_hides_a_word_and_another_brings_it_back(session: AppState) -> None:
    first = toggle(session, {"position": position_of(predict(session, "", TEXT, 5, ""), "cat")}, "", TEXT, "[]", 5, "")
    assert first[:2] == ("the red [MASK] sat on the mat", '["cat"]')
    second = toggle(session, {"position": position_of(first[2], "red")}, "", first[0], first[1], 5, "")
    assert second[:2] == ("the [MASK] [MASK] sat on the mat", '["red", "cat"]')
    assert len(json.loads(second[2])["masks"]) == 2
    masked_tokens = [mask["position"] for mask in json.loads(second[2])["masks"]]
    third = toggle(session, {"position": masked_tokens[1]}, "", second[0], second[1], 5, "")
    assert third[:2] == ("the [MASK] cat sat on the mat", '["red"]')


def test_a_click_hides_a_whole_word_of_several_pieces(session: AppState) -> None:
    text = "the dogs slept unbelievably well"
    tokens = session.models.open().tokenizer.encode(text).tokens
    position = next(place for place, token in enumerate(tokens) if token.startswith("##"))
    assert toggled(session, "", text, [], position)[0].count("[MASK]") == 1
    assert "[MASK]##" not in toggled(session, "", text, [], position)[0]


def test_a_masked_token_that_was_typed_is_filled_with_the_models_first_guess(session: AppState) -> None:
    guess = json.loads(predict(session, "", "the [MASK] cat", 1, ""))["masks"][0]["candidates"][0]["token"]
    text, words = toggled(session, "", "the [MASK] cat", [], 2)
    assert text == f"the {guess.removeprefix('##')} cat"
    assert words == []


@pytest.mark.parametrize("position", [-3, 0, 999, "x", None])
def test_a_click_on_what_is_not_there_is_answered_with_a_sentence(session: AppState, position: object) -> None:
    *_, bars = toggle(session, {"position": position}, "", TEXT, "not json", 5, "")
    assert json.loads(bars)["message"]


def test_a_sentence_without_a_masked_token_is_shown_to_be_clicked(session: AppState) -> None:
    body = json.loads(predict(session, "", TEXT, 5, ""))
    assert body["masks"] == []
    assert [column["surface"] for column in body["columns"]].count("the") == 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "Type a sentence"),
        ("   ", "Type a sentence"),
        ("the <mask> sat", r"write \[MASK\]"),
        ("the ___ sat", r"write \[MASK\]"),
        ("word " * 5000 + "[MASK]", "longer"),
        ("x" * 60_000, "shorten"),
        (None, "Type a sentence"),
    ],
)
def test_bad_input_is_one_sentence_in_place_of_the_bars(session: AppState, text: object, words: str) -> None:
    body = json.loads(picture(predict)(session, "", text, 5, ""))
    assert set(body) == {"message", "asked"}
    import re

    assert re.search(words, body["message"])


def test_an_untouched_example_gives_way_to_one_of_the_new_model(session: AppState) -> None:
    chips, text, hidden, bars = follow_model(session, "", "", "", "[]", 5, "")
    assert text == json.loads(chips)["items"][0][0]
    assert json.loads(bars)["masks"]
    _, kept, *_ = follow_model(session, "", chips, "my own [MASK]", "[]", 5, "")
    assert not isinstance(kept, str)  # the field is left alone
    del hidden


def test_a_model_that_cannot_be_opened_leaves_the_sentence_alone(session: AppState) -> None:
    *fields, bars = follow_model(session, "/no/such/folder", "", "mine", "[]", 5, "")
    assert not any(isinstance(field, str) for field in fields)
    assert "no model" in json.loads(bars)["message"]


def test_masked_tokens_are_filled_before_the_surprisal_is_measured(session: AppState) -> None:
    text = "the red [MASK] sat on the [MASK]"
    guesses = [mask["candidates"][0]["token"] for mask in json.loads(predict(session, "", text, 1, ""))["masks"]]
    first, second = (guess.removeprefix("##") for guess in guesses)
    for hidden, whole in (
        ("[]", f"the red {first} sat on the {second}"),
        ('["cat", ""]', f"the red cat sat on the {second}"),
        ('["cat"]', f"the red {first} sat on the {second}"),  # not as many words as blanks
    ):
        rows, truth = (json.loads(surprising(session, "", t, hidden))["rows"] for t in (text, whole))
        assert rows == truth


def test_a_second_model_stands_beside_the_first(session: AppState) -> None:
    little_folder(session.settings.checkpoints / "other", seed=1)
    for other, name in ((BEFORE, "before training"), (None, "before training"), ("other", "other")):
        assert json.loads(beside(session, "", "the red [MASK] sat", other))["title"].endswith(f"and {name}")
    assert "no such" in json.loads(picture(beside)(session, "", "the red [MASK] sat", "no such"))["message"]
