"""Layers: the logit lens, norms by layer, and the embedding sum."""

from typing import Any

import numpy as np
import pytest

from bertviz_lab import BertForSequenceClassification, InputError, interpret
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.views.layers.view import LAYERS
from tests.charts import shown
from tests.little import little_folder

A, B = "the red [MASK] sat", "she [MASK] him the book"


def ask(session: AppState, name: str, text_a: str = A, text_b: str = "", model: str = "", **more: Any) -> Any:
    return shown(LAYERS.questions[name].ask(session, {"model": model, "text_a": text_a, "text_b": text_b} | more))


def test_the_lens_shows_the_predictions_of_every_layer(session: AppState) -> None:
    table = ask(session, "lens", position=None)
    truth = interpret.logit_lens(session.models.open(), A)
    assert table["rows"] == ["embeddings", "layer 1", "layer 2"]
    assert table["texts"] == [[c.token for c in layer.candidates] for layer in truth.layers]
    assert table["title"] == "Logit lens: the prediction at every layer"
    best = interpret.fill_mask(session.models.open(), A).masks[0].candidates[0]
    assert table["texts"][-1][0] == best.token


def test_the_lens_is_that_of_the_selected_mask_or_the_first(session: AppState) -> None:
    masks = session.models.open().tokenizer.encode(A, B).mask_positions(session.models.open().tokenizer.mask_id)
    first, second = (ask(session, "lens", A, B, position=position) for position in masks)
    assert "masked token 1" in first["title"]
    assert "masked token 2" in second["title"]
    best = interpret.fill_mask(session.models.open(), A, 1, B).masks[1].candidates[0]
    assert second["texts"][-1][0] == best.token
    for position in (None, 1, 999):  # none, a word, and one that is no longer there
        assert ask(session, "lens", A, B, position=position) == first


def test_a_lens_needs_a_mask_and_an_mlm_head(session: AppState) -> None:
    with pytest.raises(InputError, match=r"Put \[MASK\] in place of a word"):
        ask(session, "lens", "the red cat", position=None)
    little_folder(session.settings.checkpoints / "classifier", kind=BertForSequenceClassification)
    with pytest.raises(InputError, match="no masked-LM head"):
        ask(session, "lens", model="classifier", position=None)
    assert ask(session, "norms", model="classifier", position=None)["series"]


def test_norms_are_of_the_selected_token_or_the_median_of_all(session: AppState) -> None:
    truth = interpret.norms_by_layer(session.models.open(), A, B)
    for position, title, pick in (
        (None, "median", lambda rows: np.median(rows, 1)),
        (2, "red (position 2)", lambda rows: rows[:, 2]),
        (999, "median", lambda rows: np.median(rows, 1)),
    ):
        lines = ask(session, "norms", A, B, position=position)
        assert title in lines["title"]
        hidden, attention, feed_forward = (series["values"] for series in lines["series"])
        assert hidden == pytest.approx(pick(truth.hidden).tolist(), rel=1e-5)
        assert attention[0] is feed_forward[0] is None  # the embeddings are not the output of a layer
        assert attention[1:] == pytest.approx(pick(truth.attention).tolist(), rel=1e-5)
        assert feed_forward[1:] == pytest.approx(pick(truth.feed_forward).tolist(), rel=1e-5)


@pytest.mark.parametrize(("kind", "rows"), [("hidden", 3), ("attention", 2), ("feed_forward", 2)])
def test_norms_of_each_token_have_a_row_for_each_layer(session: AppState, kind: str, rows: int) -> None:
    strip = ask(session, "token_norms", of=kind)
    values = np.array([row["values"] for row in strip["rows"]])
    np.testing.assert_allclose(values, getattr(interpret.norms_by_layer(session.models.open(), A), kind), rtol=1e-5)
    assert len(values) == rows
    assert strip["rows"][-1]["label"] == "layer 2"


def test_the_three_vectors_of_each_token_and_their_sum_are_shown(session: AppState) -> None:
    strip = ask(session, "embedding_sum", A, B)
    labels = [row["label"] for row in strip["rows"]]
    assert labels == [
        "norm token",
        "norm segment",
        "norm position",
        "norm sum",
        "cos token",
        "cos segment",
        "cos position",
    ]
    assert len(strip["columns"]) == len(session.models.open().tokenizer.encode(A, B))
