"""Starting and changing runs by the events of the page."""

import dataclasses
import json
from typing import Any

import gradio as gr
import pytest

from bertviz_lab.config.limits import Limits
from bertviz_lab.ui.page_events import PageEvents
from bertviz_lab.ui.settings import Settings
from bertviz_lab.ui.state.app_state import AppState
from tests.ui.state.test_models import RUN, make_run

OTHER = "calm-fox-fedcba9876543210"


def story(session: AppState) -> PageEvents:
    nothing: Any = None
    return PageEvents(session, nothing, nothing, nothing, nothing, nothing, ())


def change(session: AppState, own: Any, **sent: Any) -> tuple[list[str], dict[str, Any]]:
    """(the browser's runs, the answer) after an event with this data."""
    own, wire, *_ = story(session).change_run(gr.EventData(None, {"ticket": "t", **sent}), own)
    body = json.loads(wire)
    assert body["own"] == own
    assert body["answer"]["ticket"] == "t"
    return own, body["answer"]


def test_on_a_shared_page_only_who_started_a_run_stops_it_or_lets_it_go_on(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = AppState(dataclasses.replace(settings, limits=Limits.of(shared=True)))
    make_run(session)
    stopped: list[str] = []
    monkeypatch.setattr(type(session.runs), "stop", lambda _, run_id: stopped.append(run_id))
    for own in ([], ["another"], None, "x"):
        for action in ("stop", "resume", "delete", "annotate"):
            _, answer = change(session, own, action=action, run_id=RUN)
            assert "somebody else" in answer["error"]
    assert stopped == []
    _, answer = change(session, [RUN], action="stop", run_id=RUN)
    assert stopped == [RUN]
    assert "saves a checkpoint" in answer["message"]


def test_on_ones_own_machine_every_run_is_ones_own(session: AppState, monkeypatch: pytest.MonkeyPatch) -> None:
    make_run(session)
    stopped: list[str] = []
    monkeypatch.setattr(type(session.runs), "stop", lambda _, run_id: stopped.append(run_id))
    change(session, [], action="stop", run_id=RUN)
    assert stopped == [RUN]


def test_a_deleted_run_is_forgotten_by_its_browser(session: AppState) -> None:
    make_run(session)
    make_run(session, OTHER)
    own, answer = change(session, [RUN, OTHER], action="delete", run_id=RUN)
    assert (own, answer["error"]) == ([OTHER], "")


def test_an_event_without_sense_is_answered_in_a_sentence(session: AppState) -> None:
    make_run(session)
    for sent in ({}, {"action": "x", "run_id": RUN}, {"action": "delete", "run_id": 3}):
        assert change(session, [], **sent)[1]["error"]
    assert session.runs.ids() == (RUN,)
