"""Events that wait in Gradio's queue: how many a visitor may have, and whose turn it is."""

import asyncio
from dataclasses import replace

import pytest
from gradio.data_classes import PredictBodyInternal
from gradio.server_messages import ProcessCompletedMessage

from bertviz_lab.config.limits import Limits
from bertviz_lab.ui.app import build
from bertviz_lab.ui.guard.event_queue import FairQueue
from bertviz_lab.ui.server.api import MOST_WEIGHTS
from bertviz_lab.ui.server.visitors import place_of
from bertviz_lab.ui.settings import Settings
from tests.ui.pages import request_of

ADDRESS, ELSEWHERE = "192.0.2.1", "192.0.2.2"
MOST = Limits.of(shared=True).questions_waiting


@pytest.fixture
def queue(settings: Settings) -> FairQueue:
    """That of a page whose server does not run: what joins it waits."""
    queue = build(replace(settings, limits=Limits.of(shared=True)))._queue
    assert isinstance(queue, FairQueue)
    return queue


def join(queue: FairQueue, browser: int, address: str = ADDRESS, times: int = 1) -> list[str]:
    """What a browser is answered that sends events: "success", or why not."""
    (event,) = [number for number, event in queue.blocks.fns.items() if event.api_name == "tokenize"]
    request = request_of(f"{browser:043}", address).request

    async def push() -> list[str]:
        answers = []
        for number in range(times):
            body = PredictBodyInternal(data=["a", "", ""], fn_index=event, session_hash=f"{browser}-{number}")
            answers.append((await queue.push(body, request, None))[2])
        return answers

    return asyncio.run(push())


def test_a_visitor_with_much_in_the_queue_is_refused_and_others_are_let_in(queue: FairQueue) -> None:
    assert join(queue, 1, times=MOST + 1) == ["success"] * MOST + ["queue_full"]
    assert join(queue, 2) == ["success"]


def test_browsers_of_one_address_leave_half_of_the_queue_to_others(queue: FairQueue) -> None:
    answers = [answer for browser in range(60) for answer in join(queue, browser, times=MOST)]
    assert len(queue) == answers.count("success") == 250
    assert join(queue, 100, ELSEWHERE) == ["success"]


def test_turns_go_round_the_addresses_and_then_round_the_browsers_of_one(queue: FairQueue) -> None:
    join(queue, 1, times=3)
    join(queue, 2)
    join(queue, 3, ELSEWHERE, times=2)
    (waiting,) = [line.queue for line in queue.event_queue_per_concurrency_id.values()]
    order = [place_of(event.request) for event in waiting]
    one, two, three = (
        place_of(request_of(f"{browser:043}", address))
        for browser, address in ((1, ADDRESS), (2, ADDRESS), (3, ELSEWHERE))
    )
    assert order == [one, three, two, three, one, one]


def test_who_is_being_answered_has_had_a_turn(queue: FairQueue) -> None:
    join(queue, 1, times=2)
    (line,) = queue.event_queue_per_concurrency_id.values()
    queue.active_jobs = [[line.queue.pop(0)], None]
    join(queue, 2)
    assert [place_of(event.request) for event in line.queue] == [
        place_of(request_of(f"{browser:043}", ADDRESS)) for browser in (2, 1)
    ]


def test_answers_that_nobody_fetches_are_kept_in_bounds(queue: FairQueue) -> None:
    join(queue, 1, times=3)
    (waiting,) = [line.queue for line in queue.event_queue_per_concurrency_id.values()]
    answers = [ProcessCompletedMessage(output={"data": [[0.5] * MOST_WEIGHTS]}, success=True) for _ in waiting]
    for event, answer in zip(waiting, answers, strict=True):
        queue.send_message(event, answer)
    assert [answer.success for answer in answers] == [False, True, True]
