"""The input bar of Explore: models, what one is, texts that it knows, and the tokens of a text."""

import json
from typing import Any

import pytest

from bertviz_lab import InputError
from bertviz_lab.interpret import read_results
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.views.explore.view import EXPLORE
from tests.ui.finetuned import RUN, tuned
from tests.ui.state.test_models import RUN as PRETRAINED
from tests.ui.state.test_models import make_run

__all__ = ["tuned"]

A, B = "the red cat sat", "she gave him the book"


def ask(session: AppState, name: str, **arguments: Any) -> Any:
    return EXPLORE.questions[name].ask(session, arguments)


def test_ones_own_runs_and_the_shipped_models_can_be_chosen(session: AppState) -> None:
    make_run(session)
    shipped, runs = ask(session, "models")
    assert [name for name, _ in shipped[1]] == ["little"]
    assert [name for name, _ in runs[1]] == [PRETRAINED]


def test_a_model_has_facts_and_examples(session: AppState) -> None:
    facts = dict(json.loads(ask(session, "about", model=""))["items"])
    assert (facts["Layers"], facts["Architecture"]) == ("2", "BertForPreTraining")
    make_run(session, status="stopped")
    assert dict(json.loads(ask(session, "about", model=PRETRAINED))["items"])["Trained on"] == "tiny-town"
    gone = json.loads(ask(session, "about", model="<b>no</b>"))
    assert (gone["tone"], "There is no model" in gone["note"]) == ("error", True)
    examples = ask(session, "examples", model="")
    assert any("[MASK]" in text_a for text_a, _ in examples)
    assert any(text_b for _, text_b in examples)


def test_examples_of_a_fine_tuned_model_are_of_its_task(tuned: AppState) -> None:
    held_out = {example.text_a for example in read_results(tuned.runs.folder(RUN)).examples}  # type: ignore[union-attr]
    assert {text_a for text_a, _ in ask(tuned, "examples", model=RUN)} <= held_out


def test_the_tokens_of_a_pair_know_their_segments(session: AppState) -> None:
    tokens = ask(session, "encode", model="", text_a=A, text_b=B)["tokens"]
    assert [token for token, kind in tokens if kind == "special"] == ["[CLS]", "[SEP]", "[SEP]"]
    second = session.models.open().tokenizer.encode(A, B).token_type_ids
    assert {(kind, part) for (_, kind), part in zip(tokens, second, strict=True) if kind != "special"} == {
        ("seg-a", 0),
        ("seg-b", 1),
    }


def test_a_text_that_is_too_long_is_told(session: AppState) -> None:
    assert ask(session, "encode", model="", text_a="the cat " * 100, text_b="")["note"]
    with pytest.raises(InputError):
        ask(session, "encode", model="", text_a="", text_b="")


def test_a_random_second_text_is_another_one(session: AppState) -> None:
    first = ask(session, "random_text", model="", texts=[])
    assert first
    assert ask(session, "random_text", model="", texts=[first]) != first


def test_a_drawing_is_saved_with_its_own_page(session: AppState) -> None:
    assert '"the payload goes here"' in ask(session, "standalone_page", drawing="chart", label="<b>Title")
    with pytest.raises(InputError, match="no drawing"):
        ask(session, "standalone_page", drawing="nothing", label="")


def test_a_model_that_is_not_there_is_told_in_a_sentence(session: AppState) -> None:
    for name in ("examples", "encode"):
        with pytest.raises(InputError, match="There is no model"):
            ask(session, name, model="no/such/model", **({"text_a": A, "text_b": ""} if name == "encode" else {}))
