"""Layers: the logit lens, norms by layer, and the embedding sum."""

from typing import Any

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
    assert table["rows"] == ["embeddings", "layer 1", "layer 2"]
    assert table["title"] == "Logit lens: the prediction at every layer"
    assert table["texts"][-1][0] == interpret.fill_mask(session.models.open(), A).masks[0].candidates[0].token


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
    for position, title in ((None, "median"), (2, "red (position 2)"), (999, "median")):
        lines = ask(session, "norms", A, B, position=position)
        assert title in lines["title"]
        assert [len(series["values"]) for series in lines["series"]] == [3, 3, 3]


@pytest.mark.parametrize(("kind", "rows"), [("hidden", 3), ("attention", 2), ("feed_forward", 2)])
def test_norms_of_each_token_have_a_row_for_each_layer(session: AppState, kind: str, rows: int) -> None:
    strip = ask(session, "token_norms", of=kind)
    assert len(strip["rows"]) == rows
    assert strip["rows"][-1]["label"] == "layer 2"


def test_the_vectors_of_each_token_and_their_sum_are_shown(session: AppState) -> None:
    strip = ask(session, "embedding_sum", A, B)
    parts = ("token", "segment", "position")
    labels = [*(f"norm {part}" for part in (*parts, "sum")), *(f"cos {part}" for part in parts)]
    assert [row["label"] for row in strip["rows"]] == labels
    assert len(strip["columns"]) == len(session.models.open().tokenizer.encode(A, B))
