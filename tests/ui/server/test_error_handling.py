"""What handlers of the page answer: stamped payloads, or one plain sentence."""

import asyncio
import json
import time

import pytest
from gradio.state_holder import SessionState

from bertviz_lab.figures.payload import Payload, message_payload, to_json
from bertviz_lab.ui.app import build
from bertviz_lab.ui.server.error_handling import picture
from bertviz_lab.ui.state.app_state import AppState
from tests.ui.pages import request_of


def test_a_picture_knows_when_it_was_asked_for() -> None:
    moments = []

    def slow() -> Payload:
        moments.append(1000 * time.time())
        return to_json({"title": "x"})

    early = json.loads(picture(slow, shared=False)())["asked"]
    late = json.loads(picture(picture(slow, shared=False), shared=False)())["asked"]
    assert moments[0] - 1000 < early <= moments[0] < late <= moments[1]


def test_a_mistake_of_the_page_is_a_sentence_too_and_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    def broken() -> str:
        raise KeyError("oh")

    answer = picture(broken, shared=False)()
    assert "KeyError" in answer
    assert "still alive" in answer
    assert "failed" in caplog.text
    assert answer.startswith(message_payload("")[:11])


def test_answers_of_endpoints_stay_in_no_session(session: AppState) -> None:
    page = build(session.settings, session)
    state = SessionState(page)
    (endpoint,) = [number for number, event in page.fns.items() if event.api_name == "attention"]
    text = ["the red cat sat", "", ""]
    answer = asyncio.run(page.process_api(endpoint, text, state=state, request=request_of()))
    assert answer["data"][0]["attentions"]
    assert "attentions" not in repr(list(state.components))
