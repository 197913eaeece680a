"""What handlers of the page answer: stamped payloads, or one plain sentence."""

import json
import time

import pytest

from bertviz_lab.figures.payload import Payload, message_payload, to_json
from bertviz_lab.ui.server.error_handling import picture


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
