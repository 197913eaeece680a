"""Who may stop, resume, rename and delete a run."""

import dataclasses
from typing import Any

import pytest

from bertviz_lab.config.limits import Limits
from bertviz_lab.ui.server.error_handling import sentence_of
from bertviz_lab.ui.server.visitors import visitor_of
from bertviz_lab.ui.settings import Settings
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.views.runs.view import RUNS
from tests.ui.pages import OWNER, OWNERS_KEY, STRANGERS_KEY, request_of
from tests.ui.state.test_models import RUN, make_run


def change(session: AppState, key: str, **sent: Any) -> dict[str, Any]:
    """The answer after an event with this data, from the browser with a key."""
    try:
        return {"message": RUNS.questions["change"].ask(session, sent, visitor_of(request_of(key)))}
    except Exception as error:
        return {"error": sentence_of(error, shared=True)}


def test_on_a_shared_page_only_who_started_a_run_stops_it_or_lets_it_go_on(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = AppState(dataclasses.replace(settings, limits=Limits.of(shared=True)))
    make_run(session)
    stopped: list[str] = []
    monkeypatch.setattr(type(session.runs), "stop", lambda _, run_id: stopped.append(run_id))
    for key in ("", STRANGERS_KEY, OWNER.owner):
        for action in ("stop", "resume", "delete", "annotate"):
            assert "another browser" in change(session, key, action=action, run_id=RUN)["error"]
            sent = {"visitor": {"owner": OWNER.owner, "address": ""}}
            assert change(session, key, action=action, run_id=RUN, **sent)["error"]
    assert stopped == []
    answer = change(session, OWNERS_KEY, action="stop", run_id=RUN)
    assert stopped == [RUN]
    assert "saves a checkpoint" in answer["message"]


def test_on_ones_own_machine_every_run_is_ones_own(session: AppState, monkeypatch: pytest.MonkeyPatch) -> None:
    make_run(session)
    stopped: list[str] = []
    monkeypatch.setattr(type(session.runs), "stop", lambda _, run_id: stopped.append(run_id))
    change(session, STRANGERS_KEY, action="stop", run_id=RUN)
    assert stopped == [RUN]


def test_an_event_without_sense_is_answered_in_a_sentence(session: AppState) -> None:
    make_run(session)
    for sent in ({}, {"action": "x", "run_id": RUN}, {"action": "delete", "run_id": 3}):
        assert change(session, OWNERS_KEY, **sent)["error"]
    assert session.runs.ids() == (RUN,)
