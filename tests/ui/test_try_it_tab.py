"""Try it: answers of fine-tuned models."""

import json
from typing import Any

import gradio as gr
import pytest

from bertviz_lab import BertForSequenceClassification, BertForTokenClassification, interpret
from bertviz_lab.interpret import read_results
from bertviz_lab.ui.app_state import AppState
from bertviz_lab.ui.components.chips import chip_items
from bertviz_lab.ui.tabs import try_it
from tests.little import little_checkpoint, little_folder
from tests.ui.finetuned import RUN, tuned
from tests.ui.test_page_events import story

__all__ = ["tuned"]


def body(payload: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(payload["value"] if isinstance(payload, dict) else payload)
    return found


def test_a_fine_tuned_model_answers_and_another_lets_a_shipped_one_answer(tuned: AppState) -> None:
    marked, verdict = try_it.answer(tuned, RUN, "the red cat sat", "")
    truth = interpret.classify(tuned.models.open(RUN), "the red cat sat").labels
    assert not marked["visible"]
    assert body(verdict)["title"] == f"Predicted label: {truth[0].label}"
    assert body(verdict)["series"][0]["values"] == pytest.approx([label.score for label in truth])
    assert len(json.loads(try_it.words(tuned, RUN, "the red cat sat", ""))["rows"]) == len(interpret.METHODS)
    _, verdict = try_it.answer(tuned, "little", "the red cat sat", "")
    assert "has not been fine-tuned" in body(verdict)["message"]
    little_folder(tuned.settings.checkpoints / "tagger", kind=BertForTokenClassification, num_labels=3)
    try:
        marked, verdict = try_it.answer(tuned, "little", "the red cat sat", "")
        assert "tagger, which comes with the lab, is used instead" in body(marked)["sentence"]
        assert not verdict["visible"]
    finally:
        for path in (tuned.settings.checkpoints / "tagger").iterdir():
            path.unlink()
        (tuned.settings.checkpoints / "tagger").rmdir()


def test_fields_suit_the_model(tuned: AppState) -> None:
    _, payload, first, second, _, verdict = try_it.follow_model(tuned, RUN, "", "", "")
    items = json.loads(payload)["items"]
    held = {e.text_a for e in read_results(tuned.runs.folder(RUN)).examples}  # type: ignore[union-attr]
    assert {item[0] for item in items} <= held
    assert first["value"] == items[0][0]
    assert second["visible"]
    assert verdict["visible"]
    *_, verdict = try_it.follow_model(tuned, RUN, payload, "my own text", "")
    assert "Predicted" in body(verdict)["title"]


def test_models_that_answer_something_else_are_one_click_away(session: AppState) -> None:
    kinds = {"tagger": BertForTokenClassification, "judge": BertForSequenceClassification}
    for name, kind in kinds.items():
        little_folder(session.settings.checkpoints / name, kind=kind, num_labels=3)
    for name, told in (("tagger", "labels for a text (judge)"), ("judge", "entities in a text (tagger)")):
        others, *_ = try_it.follow_model(session, name, "", "", "")
        ((said, other),) = chip_items(others)
        assert said == told
        assert story(session).pick_model({"texts": [said, other]}) == (other, other)
    for texts in (["x", "/etc"], ["x"], [], "x"):
        assert story(session).pick_model({"texts": texts}) == (gr.skip(), gr.skip())


def test_the_little_tagger_marks_names(session: AppState) -> None:
    checkpoint = little_checkpoint(kind=BertForTokenClassification, num_labels=3, id2label=("B-CAT", "I-CAT", "O"))
    payload = json.loads(try_it._entities(checkpoint, "", "the red cat sat"))
    truth = interpret.label_words(checkpoint, "the red cat sat")
    assert [(span["start"], span["end"]) for span in payload["spans"]] == [(e.start, e.end) for e in truth.entities]
