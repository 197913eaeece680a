"""The label check of a run: doubts, decisions and how they are undone, corrected files, and who may see them."""

import base64
from pathlib import Path
from typing import Any

import pytest

from bertviz_lab import InputError
from bertviz_lab.training.finetuning.task_data import read_task_splits
from bertviz_lab.ui.server.visitors import NOBODY, Visitor
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.views.labels.view import QUESTIONS
from tests.charts import shown
from tests.ui.finetuned import RUN, tuned
from tests.ui.pages import OWNER

__all__ = ["tuned"]


def ask(session: AppState, name: str, visitor: Visitor = OWNER, **arguments: Any) -> Any:
    """The answer to a question about the run, payloads read."""
    answer = QUESTIONS[name].ask(session, {"run_id": RUN, **arguments}, visitor)
    return shown(answer) if isinstance(answer, str) and answer.startswith("{") else answer


@pytest.fixture(autouse=True)
def _no_decisions(tuned: AppState) -> None:
    (tuned.runs.folder(RUN) / "corrections.jsonl").unlink(missing_ok=True)


def text_of(session: AppState, place: int) -> str:
    return read_task_splits(session.runs.folder(RUN)).train[place].text_a  # type: ignore[union-attr]


def test_a_check_says_how_many_labels_are_wrong_and_what_can_be_decided(tuned: AppState) -> None:
    found = ask(tuned, "check")
    assert dict(shown(found["facts"])["items"])["Training examples"] == "42"
    assert (found["labels"], found["multiple"], found["undoable"], found["changed"]) == (
        ("bad", "good"),
        False,
        False,
        0,
    )


def test_a_decision_is_shown_with_its_example_until_it_is_undone(tuned: AppState) -> None:
    assert ask(tuned, "decide", place=3, action="drop")["decided"] == "left out"
    told = ask(tuned, "decide", place=3, action="label", label="bad")
    assert told["progress"] in (
        "1 label corrected, 0 examples left out, 0 kept.",
        "0 labels corrected, 0 examples left out, 1 kept.",
    )
    (item,) = ask(tuned, "examples", places=[3])["items"]
    assert item["texts"] == [text_of(tuned, 3)]
    assert item["facts"][-1][0] == "decided"
    undone = ask(tuned, "undo")
    assert (undone["place"], undone["decided"], undone["changed"]) == (3, "left out", 1)
    undone = ask(tuned, "undo")
    assert (undone["place"], undone["decided"], undone["undoable"]) == (3, "", False)
    assert ask(tuned, "undo")["place"] is None


def test_only_known_labels_and_examples_can_be_decided_about(tuned: AppState) -> None:
    for label in ("odd", "", "bad|good"):
        with pytest.raises(InputError, match="Choose one of the labels bad, good"):
            ask(tuned, "decide", place=0, action="label", label=label)
    with pytest.raises(InputError, match="no such training example"):
        ask(tuned, "decide", place=42, action="keep")


def test_the_map_has_a_point_for_each_example_that_opens_it(tuned: AppState) -> None:
    chart = ask(tuned, "dataset_map")
    (trace,) = chart["figure"]["data"]
    assert len(trace["x"]) == len(trace["y"]) == len(chart["picks"]) == 42
    assert sorted(pick["index"] for (pick,) in chart["picks"]) == list(range(42))
    first = chart["picks"][0][0]["index"]
    assert text_of(tuned, first) in chart["table"]["rows"][0][0]


def test_groups_of_duplicates_name_their_training_examples(tuned: AppState) -> None:
    for kind in ("conflicts", "leaks"):
        groups = ask(tuned, "duplicates", kind=kind)
        assert len(groups["members"]) == len(groups["items"])


def test_the_corrected_file_differs_in_what_was_decided(tuned: AppState) -> None:
    ask(tuned, "decide", place=5, action="drop")
    (file,) = ask(tuned, "corrected")
    before = Path(tuned.runs.config(RUN).train[0]).read_text(encoding="utf-8")  # type: ignore[union-attr]
    after = base64.b64decode(file["base64"]).decode()
    assert file["name"] == "reviews-corrected.csv"
    assert set(before.splitlines()) - set(after.splitlines()) == {next(
        line for line in before.splitlines() if text_of(tuned, 5) in line
    )}  # fmt: skip


def test_without_a_correction_nothing_is_trained_again(tuned: AppState) -> None:
    ask(tuned, "decide", place=5, action="keep")
    with pytest.raises(InputError, match="Correct a label first"):
        ask(tuned, "train_again")


def test_a_further_run_learns_from_the_corrections_and_is_compared(
    tuned: AppState, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[Any] = []
    monkeypatch.setattr(tuned.runs.__class__, "_launch", lambda runs, folder: started.append(folder))
    ask(tuned, "decide", place=5, action="drop")
    run_id = ask(tuned, "train_again")
    config = tuned.runs.config(run_id)
    assert [folder.name for folder in started] == [run_id]
    assert Path(config.corrections).parent == Path(config.train[0]).parents[1] == tuned.runs.folder(run_id)  # type: ignore[union-attr]
    assert (config.epochs, config.seed) == (2, 0)  # type: ignore[union-attr]
    assert tuned.runs.notes(run_id).note == "Trained again with 0 labels corrected, 1 example left out, 0 kept."
    assert ask(tuned, "compared") is None, "it has not ended"
    report = tuned.runs.folder(RUN) / "report.json"
    (tuned.runs.folder(run_id) / "report.json").write_bytes(report.read_bytes())
    chart = ask(tuned, "compared")
    assert [row[0] for row in chart["table"]["rows"]] == [tuned.runs.name(RUN), tuned.runs.name(run_id)]
    assert chart == ask(tuned, "compared", run_id=run_id)


def test_only_the_owner_sees_the_examples_of_a_run(tuned: AppState, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuned.models, "owns", lambda visitor, run_id: visitor == OWNER)
    for name, question in QUESTIONS.items():
        arguments: dict[str, Any] = {"place": 0, "action": "keep"} if name == "decide" else {}
        arguments |= {"kind": "leaks"} if name == "duplicates" else {}
        with pytest.raises(InputError, match="another browser, which alone can check its labels"):
            question.ask(tuned, {"run_id": RUN, **arguments}, NOBODY)


def test_a_shipped_model_has_no_training_examples_here(tuned: AppState) -> None:
    with pytest.raises(InputError, match="shipped model"):
        ask(tuned, "check", run_id="little")
