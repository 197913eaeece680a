"""The table of runs, what may be done to a run, and how its owner pushes it to the hub."""

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from bertviz_lab import InputError
from bertviz_lab.config import SHIPPED, shipped_models
from bertviz_lab.config.limits import Limits
from bertviz_lab.training.runs.run_folder import RunState, write_state
from bertviz_lab.ui.server.visitors import NOBODY, Visitor
from bertviz_lab.ui.settings import Settings
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.views.run import view as run_view
from bertviz_lab.ui.views.run.view import curves
from bertviz_lab.ui.views.runs import view as runs_view
from bertviz_lab.ui.views.runs.view import glance, task_name
from tests.ui.fake_hub import FakeHub, fake_hub
from tests.ui.pages import OWNER, STRANGER
from tests.ui.state.test_models import RUN, make_run


def table(session: AppState, visitor: Visitor = NOBODY) -> dict[str, dict[str, Any]]:
    rows = runs_view.QUESTIONS["table"].ask(session, {}, visitor)
    return {row["id"]: row for row in rows}


def change(session: AppState, action: str, visitor: Visitor = NOBODY, **more: Any) -> str:
    return runs_view.QUESTIONS["change"].ask(session, {"action": action, "run_id": RUN, **more}, visitor)


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
    assert session.models.choices(NOBODY)[0][1] == "my baseline (finished)"
    assert session.models.locate(RUN)[1] == "my baseline"
    assert glance(session, NOBODY, RUN)["name"] == "my baseline"  # type: ignore[index]
    change(session, "annotate", name="")
    assert table(session)[RUN]["name"] == "kind-otter"


def test_a_glance_at_a_run_that_is_gone_is_nothing(session: AppState) -> None:
    make_run(session)
    seen = runs_view.QUESTIONS["glances"].ask(session, {"runs": [RUN, "gone", "../../etc"]}, NOBODY)
    assert [run and run["status"] for run in seen.values()] == ["finished", None, None]


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
        runs_view.QUESTIONS["change"].ask(session, {"run_id": RUN, **sent})
    assert table(session)[RUN]["name"] == "kind-otter"


def test_the_score_of_a_shipped_model_is_that_of_its_card(tmp_path: Path) -> None:
    state = AppState(Settings(runs_dir=tmp_path))
    readme = (Path(__file__).parents[3] / "README.md").read_text(encoding="utf-8")
    rows = table(state)
    for name in shipped_models():
        card = (SHIPPED / name / "README.md").read_text(encoding="utf-8")
        measure, score = rows[name]["score_words"].rsplit(" ", 1)
        # README tells answerable questions from the others, and tokens of a kind of the control of lesson 2.
        assert name in ("answers-mini", "tiny-town-mask-only") or score in readme
        if measure == "MLM accuracy":
            assert f"| {score} (" in card
            assert score in json.loads(curves(state, name))["result"]  # nor does the view of its training say another
        else:
            assert f"| {measure} | {score} |" in card


TOKEN = "hf_" + "s" * 34


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    """A hub on this machine, which the library of this process is led to."""
    with fake_hub() as hub:
        monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", hub.address)
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_DISABLE_XET", True)
        monkeypatch.setenv("HF_TOKEN", TOKEN)
        yield hub


def push(session: AppState, visitor: Visitor = NOBODY, **arguments: Any) -> dict[str, Any]:
    target = {"run_id": RUN, "repo": "me/mine", "public": False, "dry_run": False}
    return json.loads(run_view.QUESTIONS["publish"].ask(session, target | arguments, visitor))


def preview(session: AppState, **arguments: Any) -> dict[str, Any]:
    return push(session, dry_run=True, **arguments)


def about(session: AppState) -> dict[str, Any]:
    return run_view.QUESTIONS["about"].ask(session, {"run_id": RUN}, OWNER)


def test_what_would_be_sent_is_listed_and_nothing_is_asked_of_the_hub(session: AppState, hub: FakeHub) -> None:
    folder = make_run(session)
    shown = preview(session)
    sizes = dict(shown["items"])
    weights = (folder / "model" / "model.safetensors").stat().st_size
    assert sizes["model.safetensors"] == f"{weights:,} bytes"
    assert "README.md" in sizes
    assert shown["note"].startswith(f"{len(sizes)} files")
    assert "me/mine (private" in shown["note"]
    assert "public" in preview(session, public=True)["note"]
    assert hub.asked == []


def test_a_press_sends_the_model_and_tells_where_it_is(session: AppState, hub: FakeHub) -> None:
    folder = make_run(session)
    message = push(session)["message"]
    assert message.endswith(f"{hub.address}/me/mine/commit/1")
    assert TOKEN not in message
    assert hub.created[0]["visibility"] == "private"
    assert f"Bearer {TOKEN}" in hub.sent
    weights = (folder / "model" / "model.safetensors").read_bytes()
    assert hub.repositories["me/mine"]["model.safetensors"] == weights


def test_what_the_hub_refuses_and_an_error_of_the_network_do_not_tell_the_token(
    session: AppState, hub: FakeHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise httpx.LocalProtocolError(f"Illegal header value b'Bearer {TOKEN}'")

    make_run(session)
    hub.refuses = "You may not write here."
    with pytest.raises(InputError, match="You may not write here") as refused:
        push(session)
    assert TOKEN not in str(refused.value)
    monkeypatch.setattr("huggingface_hub.HfApi.create_repo", fail)
    with pytest.raises(InputError, match=r"^The hub could not be reached \(LocalProtocolError\)\.$"):
        push(session)


@pytest.mark.parametrize("limits", [Limits.of(shared=True), dataclasses.replace(Limits(), hub="off")])
def test_a_shared_page_and_one_without_the_hub_push_nothing(settings: Settings, hub: FakeHub, limits: Limits) -> None:
    session = AppState(dataclasses.replace(settings, limits=limits))
    make_run(session)
    assert about(session)["can_push"] is False
    for ask in (push, preview):
        with pytest.raises(InputError, match=r"sends nothing to the hub|started in another browser"):
            ask(session)
    with pytest.raises(InputError, match="sends nothing to the hub"):
        push(session, OWNER)
    assert hub.asked == []


def test_a_run_without_a_model_and_names_that_the_hub_does_not_take_are_refused(
    session: AppState, hub: FakeHub
) -> None:
    make_run(session, model=False)
    assert about(session)["can_push"] is False
    with pytest.raises(InputError, match="has no model yet"):
        push(session)
    make_run(session, other := "calm-fox-fedcba9876543210")
    for repo in ("", "mine", "a/b/c", "../x"):
        with pytest.raises(InputError, match=r"hub|owner"):
            preview(session, run_id=other, repo=repo)
    assert hub.asked == []
