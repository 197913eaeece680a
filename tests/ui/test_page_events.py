"""Who has a say over a run."""

import dataclasses
from typing import Any

import gradio as gr
import pytest

from bertviz_lab.config import PretrainConfig
from bertviz_lab.ui.app_state import AppState
from bertviz_lab.ui.page_events import PageEvents
from bertviz_lab.ui.settings import Settings
from tests.ui.test_models import RUN, make_run


def story(session: AppState) -> PageEvents:
    nothing: Any = None
    return PageEvents(session, nothing, nothing, nothing, nothing, nothing, ())


def test_on_a_shared_page_only_who_started_a_run_stops_it_or_lets_it_go_on(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = AppState(dataclasses.replace(settings, shared=True))
    make_run(session)
    stopped: list[str] = []
    monkeypatch.setattr(type(session.runs), "stop", lambda _, run_id: stopped.append(run_id))
    for own in ([], ["another"], None, "x"):
        button, message = story(session).stop(own, RUN)
        assert button == gr.skip()
        assert "somebody else" in message
        assert "somebody else" in story(session).resume(PretrainConfig, 2, own, RUN)[-1]
    assert stopped == []
    story(session).stop([RUN], RUN)
    assert stopped == [RUN]


def test_on_ones_own_machine_every_run_is_ones_own(session: AppState, monkeypatch: pytest.MonkeyPatch) -> None:
    make_run(session)
    stopped: list[str] = []
    monkeypatch.setattr(type(session.runs), "stop", lambda _, run_id: stopped.append(run_id))
    story(session).stop([], RUN)
    assert stopped == [RUN]
