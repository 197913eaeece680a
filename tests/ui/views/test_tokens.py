"""Tokens: the input of the model, the split of words, and the masking of masked language modeling."""

from typing import Any

import pytest

from bertviz_lab import BertForSequenceClassification, InputError
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.views.tokens.view import QUESTIONS
from tests.charts import shown
from tests.little import little_folder

A, B = "the red cat sat", "she gave him the book"
RULE = {"rate": 15, "mask": 80, "random": 10, "unit": "tokens", "seed": 1}


def ask(session: AppState, name: str, text_a: str = A, text_b: str = "", model: str = "", **more: Any) -> Any:
    texts = {"model": model, "text_a": text_a, "text_b": text_b}
    return shown(QUESTIONS[name].ask(session, texts | more))


def test_a_text_of_thousands_of_words_is_truncated_not_refused(session: AppState) -> None:
    longest = session.models.open().config.max_position_embeddings
    strip = ask(session, "tokens", "word " * 5000)
    assert len(strip["columns"]) == longest
    assert len(strip["dropped"][0]) > 4000
    assert len(ask(session, "masking", "the red cat " * 400, settings=RULE)["columns"]) == longest
    assert ask(session, "loss", "the red cat " * 400, settings=RULE)["rows"]
    assert ask(session, "statistics", "the red cat " * 400, settings=RULE, draws="100")["series"]
    assert len(ask(session, "epochs", "the red cat " * 400, settings=RULE, masks="static")["columns"]) == longest


def test_the_words_of_both_texts_are_explained_in_part_where_they_are_long(session: AppState) -> None:
    explained = ask(session, "split", "unbelievably red", "cats")
    words = {word["word"] for word in explained["words"]} | set(explained["entire"])
    assert words == {"unbelievably", "red", "cats"}
    assert all(len(step["tried"]) <= 12 for word in ask(session, "split", "x" * 90)["words"] for step in word["steps"])
    assert ask(session, "split", "red " * 500)["more"] == 440


def test_masked_positions_are_those_of_the_input_for_a_pair_too(session: AppState) -> None:
    given = [column["token"] for column in ask(session, "tokens", A, B)["columns"]]
    for name, more in (("masking", {}), ("loss", {})):
        assert [column["token"] for column in ask(session, name, A, B, settings=RULE, **more)["columns"]] == given
    assert ask(session, "epochs", A, B, settings=RULE, masks="dynamic")["columns"] == given


def test_the_seed_decides_which_tokens_are_masked(session: AppState) -> None:
    draws = [ask(session, "masking", A, B, settings=RULE | {"seed": seed}) for seed in (3, 3, 4)]
    assert draws[0] == draws[1] != draws[2]


def test_the_rule_of_the_settings_is_that_of_the_draw(session: AppState) -> None:
    everything = ask(session, "masking", settings=RULE | {"rate": 90, "mask": 100, "random": 0})
    outcomes = [column["outcome"] for column in everything["columns"]]
    assert outcomes[0] == outcomes[-1] == "special"
    assert set(outcomes[1:-1]) == {"mask"}
    assert everything["mask_probability"] == pytest.approx(0.9)
    assert everything["shares"] == pytest.approx({"mask": 1, "random": 0, "kept": 0})
    # Whole words and spans take the pieces of a word together.
    for unit in ("words", "spans"):
        columns = ask(session, "masking", "bank", settings=RULE | {"rate": 90, "unit": unit})["columns"]
        chosen = [column["label"] is not None for column in columns if not column["special"]]
        assert len(chosen) > 1
        assert len(set(chosen)) == 1


@pytest.mark.parametrize(
    ("text", "change", "words"),
    [
        ("", {}, "Type a sentence"),
        (A, {"random": 30}, "exceed 100 percent"),
        (A, {"rate": 0}, "above 0"),
        (A, {"rate": 101}, "less than or equal to 100"),
        (A, {"rate": "much"}, "valid number"),
        (A, {"seed": -7}, "greater than or equal to 0"),
        (A, {"unit": "letters"}, "'tokens', 'words' or 'spans'"),
        ("x" * 60_000, {}, "50,000 characters"),
    ],
)
def test_impossible_settings_are_refused_in_one_sentence(
    session: AppState, text: str, change: dict[str, Any], words: str
) -> None:
    with pytest.raises(InputError, match=words):
        ask(session, "masking", text, settings=RULE | change)


def test_the_loss_is_that_of_the_masked_positions(session: AppState) -> None:
    losses = ask(session, "loss", A, B, settings=RULE | {"rate": 40})["rows"][1]["values"]
    masked = ask(session, "masking", A, B, settings=RULE | {"rate": 40})["columns"]
    assert [value is not None for value in losses] == [bool(column["label"]) for column in masked]


def test_a_model_without_an_mlm_head_has_tokens_but_no_loss(session: AppState) -> None:
    little_folder(session.settings.checkpoints / "classifier", kind=BertForSequenceClassification)
    assert ask(session, "masking", model="classifier", settings=RULE)["columns"]
    with pytest.raises(InputError, match="no masked-LM head"):
        ask(session, "loss", model="classifier", settings=RULE)


def test_statistics_count_many_draws_beside_the_rule(session: AppState) -> None:
    counts = ask(session, "statistics", settings=RULE, draws="100")
    assert counts["series"][1]["values"] == pytest.approx([0.8, 0.1, 0.1])
    assert counts["title"] == "100 draws"
    with pytest.raises(InputError, match="'100000'"):
        ask(session, "statistics", settings=RULE, draws="1000000000")
