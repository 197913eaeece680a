"""The table of runs, and what may be done to a run."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from bertviz_lab import InputError
from bertviz_lab.config import SHIPPED
from bertviz_lab.config.limits import Limits
from bertviz_lab.training.runs.run_folder import RunState, write_state
from bertviz_lab.ui.server.visitors import NOBODY, Visitor
from bertviz_lab.ui.settings import Settings
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.views.run.view import curves
from bertviz_lab.ui.views.runs.view import RUNS, glance, task_name
from tests.ui.pages import OWNER, STRANGER
from tests.ui.state.test_models import RUN, make_run


def table(session: AppState, visitor: Visitor = NOBODY) -> dict[str, dict[str, Any]]:
    rows = RUNS.questions["table"].ask(session, {}, visitor)
    return {row["id"]: row for row in rows}


def change(session: AppState, action: str, visitor: Visitor = NOBODY, **more: Any) -> str:
    return RUNS.questions["change"].ask(session, {"action": action, "run_id": RUN, **more}, visitor)


def test_a_run_and_a_shipped_model_have_a_row_each(session: AppState) -> None:
    folder = make_run(session)
    rows = [
        {"event": "RunStarted", "step": 0, "objective": "mlm+nsp", "parameters": 1234},
        {"event": "EvalDone", "step": 7, "mlm_accuracy": 0.394},
    ]
    (folder / "events.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    run, shipped = table(session).values()
    expected = {"name": "kind-otter", "status": "finished", "task": "MLM + NSP", "score_words": "MLM accuracy 39.4%"}
    assert run.items() >= (expected | {"parameters": 1234, "mine": True}).items()
    assert run["started"] > 0
    assert (shipped["id"], shipped["status"], shipped["mine"]) == ("little", "shipped", False)


def test_the_score_follows_the_log(session: AppState) -> None:
    folder = make_run(session)
    log = folder / "events.jsonl"
    for score in (0.25, 0.5):
        with log.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"event": "EvalDone", "step": 1, "mlm_accuracy": score}) + "\n")
        assert table(session)[RUN]["score"] == score


def test_tasks_have_their_names() -> None:
    names = {"mlm": "MLM", "mlm+sop": "MLM + SOP", "qa": "Question answering", "": ""}
    assert {objective: task_name(objective) for objective in names} == names


def test_a_name_tags_and_a_note_are_kept_and_the_pickers_use_the_name(session: AppState) -> None:
    make_run(session)
    change(session, "annotate", name=" my baseline ", tags=["a", " a", "", "b"], note="<b>bold</b>")
    row = table(session)[RUN]
    assert (row["name"], row["tags"], row["note"]) == ("my baseline", ("a", "b"), "<b>bold</b>")
    assert session.models.choices(NOBODY)[0][0] == "my baseline (finished)"
    assert session.models.locate(RUN)[1] == "my baseline"
    assert glance(session, NOBODY, RUN)["name"] == "my baseline"  # type: ignore[index]
    change(session, "annotate", name="")
    assert table(session)[RUN]["name"] == "kind-otter"


def test_a_deleted_run_is_gone_from_table_and_pickers(session: AppState) -> None:
    make_run(session)
    change(session, "delete")
    assert list(table(session)) == ["little"]
    assert [name for _, name in session.models.choices(NOBODY)] == ["little"]
    assert not session.models.is_run(RUN)


def test_a_run_that_trains_is_not_deleted(session: AppState) -> None:
    folder = make_run(session)
    write_state(folder, RunState("starting"))
    with pytest.raises(InputError, match="stop it before"):
        change(session, "delete")
    assert table(session)[RUN]["active"]


@pytest.mark.parametrize("action", ["stop", "resume", "annotate", "delete"])
def test_on_a_shared_page_nobody_changes_the_run_of_somebody_else(settings: Settings, action: str) -> None:
    session = AppState(dataclasses.replace(settings, limits=Limits.of(shared=True)))
    folder = make_run(session, status="stopped")
    before = sorted(path.name for path in folder.iterdir())
    for visitor in (NOBODY, STRANGER):
        with pytest.raises(InputError, match="another browser"):
            change(session, action, visitor)
        assert RUN not in table(session, visitor)
    assert sorted(path.name for path in folder.iterdir()) == before
    assert session.runs.state(RUN).status == "stopped"


def test_on_a_shared_page_ones_own_run_is_changed(settings: Settings) -> None:
    session = AppState(dataclasses.replace(settings, limits=Limits.of(shared=True)))
    make_run(session)
    assert table(session, OWNER)[RUN]["mine"]
    change(session, "annotate", OWNER, name="mine")
    assert table(session, OWNER)[RUN]["name"] == "mine"
    change(session, "delete", OWNER)
    assert list(table(session, OWNER)) == ["little"]


@pytest.mark.parametrize(
    "sent",
    [
        {"action": "rename"},
        {"action": None},
        {"action": "delete", "run_id": "../elsewhere"},
        {"action": "delete", "run_id": ["x"]},
        {"action": "annotate", "tags": "a,b"},
        {"action": "annotate", "name": {"x": 1}},
        {"action": "annotate", "name": "x" * 100},
        {"action": "annotate", "folder": "/tmp"},
    ],
)
def test_what_a_browser_sends_is_checked(session: AppState, sent: dict[str, Any]) -> None:
    make_run(session)
    with pytest.raises(InputError):
        RUNS.questions["change"].ask(session, {"run_id": RUN, **sent})
    assert table(session)[RUN]["name"] == "kind-otter"


def test_the_score_of_a_shipped_model_is_that_of_its_card(tmp_path: Path) -> None:
    state = AppState(Settings(runs_dir=tmp_path))
    readme = (Path(__file__).parents[3] / "README.md").read_text(encoding="utf-8")
    rows = table(state)
    for name in (
        "wiki-mini",
        "wiki-tiny",
        "tiny-town",
        "sentiment-mini",
        "emotions-mini",
        "answers-mini",
        "embed-mini",
    ):
        card = (SHIPPED / name / "README.md").read_text(encoding="utf-8")
        measure, score = rows[name]["score_words"].rsplit(" ", 1)
        assert name == "answers-mini" or score in readme  # which tells answerable questions from the others
        if measure == "MLM accuracy":
            assert f"| {score} (" in card
            assert score in json.loads(curves(state, name))["result"]  # nor does the view of its training say another
        else:
            assert f"| {measure} | {score} |" in card
