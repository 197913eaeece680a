"""What the grid of all heads asks, and how attention is subtracted."""

import dataclasses
import shutil
from typing import Any

import numpy as np
import pytest

from bertviz_lab import Tokenizer, interpret, save_checkpoint
from bertviz_lab.errors import InputError
from bertviz_lab.training.loop.growth import ProgressiveStacking
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.views.attention.view import QUESTIONS
from tests.charts import shown
from tests.little import little_folder

A, B = "the red cat sat", "she gave him the book"


def ask(session: AppState, name: str, **arguments: Any) -> Any:
    return QUESTIONS[name].ask(session, arguments)


def attention(session: AppState, text_a: str = A, text_b: str = B, model: str = "") -> dict[str, Any]:
    return shown(ask(session, "attention", model=model, text_a=text_a, text_b=text_b))


def difference(session: AppState, against: str, other: str = "before", other_text: str = "", **more: str) -> Any:
    texts = {"model": "little", "text_a": A, "text_b": ""} | more
    return shown(ask(session, "difference", against=against, other=other, other_text=other_text, **texts))


def test_the_weights_of_a_layer_can_be_asked(session: AppState) -> None:
    body = attention(session)
    trace = interpret.trace_text(session.models.open(), A, B)
    assert tuple(body["tokens"]) == trace.tokens
    codes = ask(session, "layer_values", key=body["key"], layer=1)["codes"]
    np.testing.assert_allclose((codes / 65535) ** 2, trace.attentions[1], atol=2e-5)


def test_a_layer_that_is_not_there_and_a_forgotten_computation_have_no_weights(session: AppState) -> None:
    key = attention(session)["key"]
    assert ask(session, "layer_values", key=key, layer=2) == {}
    assert ask(session, "layer_values", key="unknown", layer=0) == {}
    with pytest.raises(InputError, match="layer"):
        ask(session, "layer_values", key=key, layer=-1)


def test_the_query_key_product_explains_a_weight(session: AppState) -> None:
    key = attention(session)["key"]
    answer = shown(ask(session, "query_key", key=key, layer=1, head=0, row=2, column=3))
    weight = interpret.trace_text(session.models.open(), A, B).attentions[1, 0, 2, 3]
    assert f"the weight {weight:.4f}" in answer["sentence"]
    for layer, head, row in ((2, 0, 0), (0, 2, 0), (0, 0, 99)):
        assert ask(session, "query_key", key=key, layer=layer, head=head, row=row, column=0) is None


@pytest.mark.parametrize(("against", "other"), [("model", "before"), ("model", "other"), ("causal", ""), ("text", "")])
def test_rows_of_an_attention_difference_sum_to_zero(session: AppState, against: str, other: str) -> None:
    little_folder(session.settings.checkpoints / "other", seed=1)
    body = difference(session, against, other, "the old man ran")
    assert body["signed"]
    roots = (body["cells"].astype(float) - 32767) / 32767
    rows = (np.sign(roots) * roots**2).reshape(-1, len(body["tokens"])).sum(-1)
    np.testing.assert_allclose(rows, 0, atol=2e-3)


def test_differences_from_two_models_of_one_name_are_two(session: AppState) -> None:
    folder = session.settings.checkpoints / "other"
    little_folder(folder, seed=1)
    first = difference(session, "model", "other")
    shutil.rmtree(folder)
    little_folder(folder, seed=2)
    second = difference(session, "model", "other")
    assert first["title"] == second["title"]
    assert first["key"] != second["key"]


def test_layers_of_a_difference_that_were_not_sent_can_be_asked(session: AppState) -> None:
    key = difference(session, "causal")["key"]
    codes = ask(session, "layer_values", key=key, layer=1)["codes"]
    roots = (codes.astype(float) - 32767) / 32767
    np.testing.assert_allclose((np.sign(roots) * roots**2).sum(-1), 0, atol=1e-3)
    assert ask(session, "query_key", key=key, layer=1, head=0, row=0, column=0) is None


@pytest.mark.parametrize(("other_text", "words"), [("the cat", "equal length"), ("", "Type the other text")])
def test_texts_of_unequal_length_are_not_subtracted(session: AppState, other_text: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        difference(session, "text", other_text=other_text)


def test_the_tokens_of_two_models_are_matched_by_characters(session: AppState) -> None:
    other = Tokenizer.train(["she slept", "he ran"] * 50, vocab_size=60)
    apart = dataclasses.replace(session.models.open(), tokenizer=other, name="apart")
    save_checkpoint(apart, session.settings.checkpoints / "apart")
    body = difference(session, "model", "apart", text_a="the cat")
    assert body["tokens"] == ["[CLS]", "the", "cat", "[SEP]"]
    pieces = len(other.encode("the cat"))
    assert f"into 4 and {pieces} tokens, which are matched by their characters" in body["guide"]


def test_layers_that_have_not_joined_the_training_are_named(session: AppState) -> None:
    assert "joined" not in attention(session)["guide"]
    model = session.models.open().model
    ProgressiveStacking(model, 0.9, lambda: 0.0, is_new=True)
    assert "Layer 2 has not joined the training" in attention(session, "a red cat")["guide"]
