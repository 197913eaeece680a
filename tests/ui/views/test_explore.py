"""Explore: its input bar, and Layers: the logit lens, norms by layer, and the embedding sum."""

import json
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file, save_file

from bertviz_lab import BertForSequenceClassification, InputError, interpret
from bertviz_lab.figures.payload import figure
from bertviz_lab.interpret import read_results
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.views.explore import view as explore_view
from bertviz_lab.ui.views.layers import view as layers_view
from tests.charts import shown
from tests.little import little_folder
from tests.ui.finetuned import RUN, tuned
from tests.ui.state.test_models import RUN as PRETRAINED
from tests.ui.state.test_models import make_run

__all__ = ["tuned"]

A, B = "the red cat sat", "she gave him the book"


def ask(session: AppState, name: str, **arguments: Any) -> Any:
    return explore_view.QUESTIONS[name].ask(session, arguments)


def test_ones_own_runs_and_the_shipped_models_can_be_chosen(session: AppState) -> None:
    make_run(session)
    shipped, runs = ask(session, "models")
    assert [name for name, _ in shipped[1]] == ["little"]
    assert [name for name, _ in runs[1]] == [PRETRAINED]


def test_a_model_has_facts_and_examples(session: AppState) -> None:
    facts = dict(json.loads(ask(session, "about", model=""))["items"])
    assert (facts["Layers"], facts["Architecture"]) == ("2", "BertForPreTraining")
    config = session.models.open("").config
    assert facts["Longest input"] == f"{config.max_position_embeddings:,} tokens"
    make_run(session, status="stopped")
    assert dict(json.loads(ask(session, "about", model=PRETRAINED))["items"])["Trained on"] == "tiny-town"
    gone = json.loads(ask(session, "about", model="<b>no</b>"))
    assert (gone["tone"], "There is no model" in gone["note"]) == ("error", True)
    examples = ask(session, "examples", model="")
    assert any("[MASK]" in text_a for text_a, _ in examples)
    assert any(text_b for _, text_b in examples)


def test_a_head_whose_weights_are_missing_is_said(session: AppState, tmp_path: Path) -> None:
    weights = little_folder(tmp_path / "headless") / "model.safetensors"
    save_file({name: t for name, t in load_file(weights).items() if not name.startswith("cls.")}, weights)
    assert "predicts at random" in json.loads(ask(session, "about", model=str(weights.parent)))["note"]


def test_examples_of_a_fine_tuned_model_are_of_its_task(tuned: AppState) -> None:
    held_out = {example.text_a for example in read_results(tuned.runs.folder(RUN)).examples}  # type: ignore[union-attr]
    assert {text_a for text_a, _ in ask(tuned, "examples", model=RUN)} <= held_out


def test_the_tokens_of_a_pair_know_their_segments(session: AppState) -> None:
    encoding = ask(session, "encode", model="", text_a=A, text_b=B)["encoding"]
    columns = shown(figure("tokens", encoding=encoding))["columns"]
    assert [column["token"] for column in columns if column["kind"] == "special"] == ["[CLS]", "[SEP]", "[SEP]"]
    parts = {(column["kind"], column["segment"]) for column in columns if column["kind"] != "special"}
    assert parts == {("seg-a", 0), ("seg-b", 1)}


def test_a_text_that_is_too_long_is_told(session: AppState) -> None:
    assert ask(session, "encode", model="", text_a="the cat " * 100, text_b="")["note"]
    with pytest.raises(InputError):
        ask(session, "encode", model="", text_a="", text_b="")


def test_a_random_second_text_is_another_one(session: AppState) -> None:
    first = ask(session, "random_text", model="", texts=[])
    assert first
    assert ask(session, "random_text", model="", texts=[first]) != first


MASK_A, MASK_B = "the red [MASK] sat", "she [MASK] him the book"


def ask_layers(
    session: AppState, name: str, text_a: str = MASK_A, text_b: str = "", model: str = "", **more: Any
) -> Any:
    return shown(layers_view.QUESTIONS[name].ask(session, {"model": model, "text_a": text_a, "text_b": text_b} | more))


def test_the_lens_shows_the_predictions_of_every_layer(session: AppState) -> None:
    table = ask_layers(session, "lens", position=None)
    assert table["rows"] == ["embeddings", "layer 1", "layer 2"]
    assert table["title"] == "Logit lens: the prediction at every layer"
    assert table["texts"][-1][0] == interpret.fill_mask(session.models.open(), MASK_A).masks[0].candidates[0].token


def test_the_lens_is_that_of_the_selected_mask_or_the_first(session: AppState) -> None:
    masks = (
        session.models.open().tokenizer.encode(MASK_A, MASK_B).mask_positions(session.models.open().tokenizer.mask_id)
    )
    first, second = (ask_layers(session, "lens", MASK_A, MASK_B, position=position) for position in masks)
    assert "masked token 1" in first["title"]
    assert "masked token 2" in second["title"]
    best = interpret.fill_mask(session.models.open(), MASK_A, 1, MASK_B).masks[1].candidates[0]
    assert second["texts"][-1][0] == best.token
    for position in (None, 1, 999):  # none, a word, and one that is no longer there
        assert ask_layers(session, "lens", MASK_A, MASK_B, position=position) == first


def test_a_lens_needs_a_mask_and_an_mlm_head(session: AppState) -> None:
    with pytest.raises(InputError, match=r"Put \[MASK\] in place of a word"):
        ask_layers(session, "lens", "the red cat", position=None)
    little_folder(session.settings.checkpoints / "classifier", kind=BertForSequenceClassification)
    with pytest.raises(InputError, match="no masked-LM head"):
        ask_layers(session, "lens", model="classifier", position=None)
    assert ask_layers(session, "norms", model="classifier", position=None)["series"]


def test_norms_are_of_the_selected_token_or_the_median_of_all(session: AppState) -> None:
    for position, title in ((None, "median"), (2, "red (position 2)"), (999, "median")):
        lines = ask_layers(session, "norms", MASK_A, MASK_B, position=position)
        assert title in lines["title"]
        assert [len(series["values"]) for series in lines["series"]] == [3, 3, 3]


@pytest.mark.parametrize(("kind", "rows"), [("hidden", 3), ("attention", 2), ("feed_forward", 2)])
def test_norms_of_each_token_have_a_row_for_each_layer(session: AppState, kind: str, rows: int) -> None:
    strip = ask_layers(session, "token_norms", of=kind)
    assert len(strip["rows"]) == rows
    assert strip["rows"][-1]["label"] == "layer 2"


def test_the_vectors_of_each_token_and_their_sum_are_shown(session: AppState) -> None:
    strip = ask_layers(session, "embedding_sum", MASK_A, MASK_B)
    parts = ("token", "segment", "position")
    labels = [*(f"norm {part}" for part in (*parts, "sum")), *(f"cos {part}" for part in parts)]
    assert [row["label"] for row in strip["rows"]] == labels
    assert len(strip["columns"]) == len(session.models.open().tokenizer.encode(MASK_A, MASK_B))
