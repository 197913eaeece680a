"""Which predictions are explained, by which tokens and heads, and what interventions make of them."""

from pathlib import Path
from typing import Any

import pytest

from bertviz_lab import (
    BertForQuestionAnswering,
    BertForSequenceClassification,
    BertForTokenClassification,
    interpret,
)
from bertviz_lab.errors import InputError
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.views.attribution.view import QUESTIONS
from tests.charts import shown
from tests.little import little_folder

TEXT = "the red [MASK] sat on the mat"
A, B = "the red cat sat", "she gave him the book"
LABELS = {"id2label": ("bad", "good", "so-so"), "num_labels": 3}


def ask(session: AppState, name: str, text_a: str = TEXT, text_b: str = "", **chosen: Any) -> Any:
    given: dict[str, Any] = {"model": "", "text_a": text_a, "text_b": text_b, "kind": ""}
    if name != "targets":
        given |= {"position": None, "choice": "", "contrast": ""}
    if name in ("head_effects", "intervention"):
        given["ablated"] = []
    if name == "intervention":
        given |= {"causal": False, "segments": ""}
    answer = QUESTIONS[name].ask(session, given | chosen)
    return shown(answer) if isinstance(answer, str) else answer


def strip(session: AppState, *texts: str, **chosen: Any) -> Any:
    return shown(ask(session, "attribution", *texts, **chosen)["tokens"])


def facts(answer: dict[str, Any]) -> dict[str, str]:
    return dict(shown(answer["facts"])["items"])


def save(session: AppState, kind: type) -> Path:
    name = kind.__name__
    return little_folder(session.settings.checkpoints / name, kind=kind, **LABELS)


def test_a_masked_token_is_explained_by_all_methods_beside_attention(session: AppState) -> None:
    answer = ask(session, "attribution")
    assert [row["label"] for row in shown(answer["tokens"])["rows"]] == [*interpret.METHODS, "attention"]
    best = interpret.fill_mask(session.models.open(), TEXT).masks[0].candidates[0]
    assert facts(answer) == {
        "Prediction explained": best.token,
        "Probability": f"{best.probability:.1%}",
        "Rank in vocabulary": "1",
    }


def test_another_token_is_explained_and_contrasted(session: AppState) -> None:
    asked = interpret.fill_mask(session.models.open(), TEXT, word="cat").masks[0].asked
    assert asked is not None
    assert facts(ask(session, "attribution", choice="cat"))["Rank in vocabulary"] == f"{asked.rank:,}"
    assert strip(session, choice="cat", contrast="book")["title"] == "Attribution for cat rather than book"
    with pytest.raises(InputError, match="not one token"):
        ask(session, "attribution", choice="unbelievably long")


def test_the_first_masked_token_is_explained_or_the_one_at_a_position(session: AppState) -> None:
    text = "the [MASK] cat sat on the [MASK]"
    first, second = interpret.fill_mask(session.models.open(), text).masks
    positions = ask(session, "targets", text)["positions"]
    assert [place for place, _ in positions] == [first.position, second.position]
    for position, mask in ((None, first), (second.position, second), (3, first), (999, first)):
        shown = facts(ask(session, "attribution", text, position=position))
        assert shown["Prediction explained"] == mask.candidates[0].token
        assert shown["Probability"] == f"{mask.candidates[0].probability:.1%}"


def test_the_prediction_that_suits_the_text_is_explained_unless_another_is_chosen(session: AppState) -> None:
    targets = ask(session, "targets", A, B)
    assert (targets["kind"], targets["kinds"]) == ("next", ("token", "next"))
    title = shown(ask(session, "attribution", A, B)["tokens"])["title"]
    assert title.startswith("Attribution for the prediction that B ")
    for texts, kind in (((TEXT, B), "token"), ((A, "she [MASK] him"), "token")):
        assert ask(session, "targets", *texts)["kind"] == kind
    assert ask(session, "targets", TEXT, B, kind="next")["kind"] == "next"
    for kind in ("label", "<b>", "word"):  # it has no such head
        assert ask(session, "targets", kind=kind)["kind"] == "token"


@pytest.mark.parametrize(
    ("architecture", "kind", "texts"),
    [
        (BertForSequenceClassification, "label", (A, "")),
        (BertForSequenceClassification, "label", (A, B)),
        (BertForTokenClassification, "word", (A, "")),
        (BertForQuestionAnswering, "start", (A, B)),
        (BertForQuestionAnswering, "end", (A, B)),
    ],
)
def test_the_prediction_of_a_fine_tuned_model_is_explained(
    session: AppState, architecture: type, kind: str, texts: tuple[str, str]
) -> None:
    chosen = {"model": save(session, architecture).name, "kind": kind}
    answer = ask(session, "attribution", *texts, **chosen)
    assert facts(answer).keys() == {"Prediction explained", "Probability"}
    bars = shown(ask(session, "intervention", *texts, **chosen, causal=True)["chart"])
    assert bars["series"][0]["values"] != bars["series"][1]["values"]
    assert ask(session, "head_effects", *texts, **chosen)["values"]


def test_the_label_of_a_chosen_word_is_explained(session: AppState) -> None:
    model = save(session, BertForTokenClassification).name
    targets = ask(session, "targets", A, model=model)
    assert targets["classes"] == ["bad", "good", "so-so"]
    position, words = targets["positions"][2]
    token = words.split(" ")[0]
    title = strip(session, A, model=model, position=position, choice="good", contrast="bad")["title"]
    assert title == f"Attribution for good rather than bad as the label of {token}"


def test_a_number_is_explained_as_a_number(session: AppState) -> None:
    folder = session.settings.checkpoints / "regression"
    little_folder(folder, kind=BertForSequenceClassification, id2label=("score",), num_labels=1)
    assert not ask(session, "targets", A, model="regression")["choosable"]
    value = interpret.classify(session.models.open("regression"), A).labels[0].score
    assert facts(ask(session, "attribution", A, model="regression"))["Predicted value"] == f"{value:.2f}"
    bars = shown(ask(session, "intervention", A, model="regression")["chart"])
    assert bars["series"][0]["texts"] == [f"{value:.2f}"]


def test_the_effect_of_each_head_does_not_depend_on_which_are_ablated(session: AppState, monkeypatch) -> None:
    first = ask(session, "head_effects")
    monkeypatch.setattr(interpret, "ablate_heads", lambda *_, **__: pytest.fail("computed again"))
    again = ask(session, "head_effects", ablated=[[0, 1]])
    assert again["values"] == first["values"]
    assert [[text == "off" for text in row] for row in again["texts"]] == [[False, True, False], [False] * 3]


def test_a_prediction_changes_without_a_head_and_with_a_causal_mask(session: AppState) -> None:
    def is_changed(**changes: Any) -> bool:
        before, *after = shown(ask(session, "intervention", **changes)["chart"])["series"]
        return any(before["values"] != other["values"] for other in after)

    assert [is_changed(), is_changed(causal=True), is_changed(ablated=[[1, 0], [9, 9]])] == [False, True, True]


def test_an_intervention_is_named(session: AppState) -> None:
    unchanged = ask(session, "intervention")
    assert facts(unchanged)["Changed"] == "nothing changed yet"
    assert len(shown(unchanged["chart"])["series"]) == 1, "nothing is drawn twice"
    named = facts(ask(session, "intervention", ablated=[[1, 0], [0, 1]], causal=True))["Changed"]
    assert named == "without layer 1 head 2, layer 2 head 1 and causal mask"
    assert facts(ask(session, "intervention", A, B, kind="next", segments="zero"))["Changed"] == "all segment ids 0"
    assert (
        facts(ask(session, "intervention", A, B, kind="next", segments="swapped"))["Changed"] == "segment ids swapped"
    )
    assert facts(ask(session, "intervention", segments="swapped"))["Changed"] == "nothing changed yet"  # no pair


@pytest.mark.parametrize(
    ("name", "value"),
    [("segments", "other"), ("segments", None), *(("ablated", value) for value in ([[-1, 0]], ["x"], [[0]], None))],
)
def test_segment_ids_and_heads_are_changed_in_their_ways_only(session: AppState, name: str, value: Any) -> None:
    with pytest.raises(InputError, match=name):
        ask(session, "intervention", A, B, **{name: value})
