"""The scheduler: turns, cancelling, file workers, and questions that nobody waits for."""

import asyncio
import contextlib
import dataclasses
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from gradio_client import Client

from benchmarks.visitor import PageError, Visitor
from bertviz_lab.config import SHIPPED
from bertviz_lab.config.limits import Limits
from bertviz_lab.errors import InputError
from bertviz_lab.jobs.scheduler import Cancelled, Job
from bertviz_lab.ui.server import scheduler as scheduler_module
from bertviz_lab.ui.server.scheduler import VisitorScheduler, report_progress
from tests.processes import wait_for
from tests.ui.pages import little_settings, serve

A, B = ("192.0.2.1", "a"), ("192.0.2.2", "b")


def shared() -> VisitorScheduler:
    return VisitorScheduler(Limits.of(shared=True))


def test_an_answer_comes_from_a_thread_that_reports_its_progress() -> None:
    scheduler, said = shared(), []

    def compute() -> str:
        report_progress(0.4)
        said.append(scheduler.progress("mine"))
        return threading.current_thread().name

    assert asyncio.run(scheduler.answer(compute, A, "toy", ticket="mine")) != threading.current_thread().name
    assert said == [{"share": 0.4, "before": None, "seconds": None}]
    assert scheduler.progress("mine")["share"] == 0
    report_progress(0.5)  # outside of a question nobody listens


def test_a_question_is_cancelled_by_its_visitor_alone() -> None:
    scheduler = shared()

    def compute() -> None:
        while True:
            report_progress(0.1)
            time.sleep(0.01)

    async def ask() -> None:
        asked = asyncio.create_task(scheduler.answer(compute, A, "toy", ticket="mine"))
        await asyncio.sleep(0.05)
        scheduler.cancel_ticket("mine", B)
        await asyncio.sleep(0.05)
        assert not asked.done()
        scheduler.cancel_ticket("mine", A)
        await asked

    with pytest.raises(InputError, match="cancelled the request"):
        asyncio.run(ask())
    assert len(scheduler) == 0


def test_a_coroutine_that_is_cancelled_while_it_waits_leaves_the_queue() -> None:
    scheduler = shared()
    active = [scheduler.submit((str(number), ""), "toy", "slow") for number in range(2)]

    async def ask() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(scheduler.answer(lambda: None, A, "toy", slow=True), 0.1)

    asyncio.run(ask())
    assert len(scheduler) == len(active)


def file_questions(scheduler: VisitorScheduler, visitors: list[Any], read: Callable[[Any], None]) -> None:
    """Ask a quick question of each visitor that reads a file."""

    def compute(visitor: Any) -> None:
        with scheduler.file_worker():
            read(visitor)

    async def ask() -> None:
        tasks = []
        for visitor in visitors:
            tasks.append(asyncio.create_task(scheduler.answer(lambda v=visitor: compute(v), visitor, "toy")))
            await asyncio.sleep(0.02)
        await asyncio.gather(*tasks)

    asyncio.run(ask())


def test_file_workers_go_round_the_visitors() -> None:
    """A small file took 19 s next to the four texts of one visitor."""
    scheduler, order = shared(), []

    def read(visitor: Any) -> None:
        order.append(visitor)
        time.sleep(0.3)

    file_questions(scheduler, [A, A, A, A, B], read)
    assert order[1] == B


def test_a_file_that_gets_no_worker_is_refused_and_a_cancelled_question_waits_no_longer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scheduler = shared()
    for number in range(2):
        scheduler.submit((str(number), ""), "file worker", "files")
    monkeypatch.setattr(scheduler_module, "_LONGEST_WAIT", 0.1)
    with pytest.raises(InputError, match="busy with the files of others"):
        file_questions(scheduler, [A], lambda visitor: None)
    monkeypatch.setattr(scheduler_module, "_LONGEST_WAIT", 30.0)
    question = scheduler.submit(A, "toy", "quick")
    reset = scheduler_module._CURRENT.set(question)
    threading.Timer(0.1, scheduler.cancel, (question, "gone")).start()
    with pytest.raises(Cancelled), scheduler.file_worker():
        pass
    scheduler_module._CURRENT.reset(reset)
    assert len(scheduler) == 3  # the two that hold the workers, and the question itself


def test_the_end_waits_for_what_is_computed() -> None:
    scheduler, done = shared(), threading.Event()
    began = threading.Event()

    def compute() -> None:
        began.set()
        time.sleep(0.3)
        done.set()

    threading.Thread(target=scheduler.run, args=(compute,), daemon=True).start()
    began.wait()
    scheduler.wait(0.01)
    assert not done.is_set()
    scheduler.wait()
    assert done.is_set()


_LONG = "the old king of france was a man of letters " * 30  # about as long as is answered at all
_ABANDONED, _PATIENCE = 24, 0.5
_SURPRISAL = {"model": "wiki-mini", "text_b": "", "positions": 0}


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, VisitorScheduler]]:
    """The address of a shared page with the shipped models, and the line in which its questions wait."""
    settings = little_settings(tmp_path_factory.mktemp("page"), shared=True, models=False)
    with serve(dataclasses.replace(settings, checkpoints=SHIPPED)) as (address, session):
        yield address, session.scheduler


async def _abandon(visitor: Visitor) -> None:
    with contextlib.suppress(httpx.TimeoutException, PageError):  # too many of one visitor give way
        await visitor.ask("predictions", "surprisal", timeout=_PATIENCE, text_a=_LONG, **_SURPRISAL)


async def _seconds_of_six_words(visitor: Visitor) -> float:
    began = time.monotonic()
    await visitor.ask("predictions", "surprisal", text_a="The king of France is old.", **_SURPRISAL)
    return time.monotonic() - began


def test_abandoned_questions_hold_up_nobody(page: tuple[str, VisitorScheduler]) -> None:
    """Twenty-four at once made a question of six words take three minutes."""
    address, line = page

    async def attack() -> tuple[float, float]:
        async with contextlib.AsyncExitStack() as stack:
            visitors = [await stack.enter_async_context(Visitor(address)) for _ in range(_ABANDONED + 1)]
            await visitors[0].open()
            alone = await _seconds_of_six_words(visitors[0])
            await asyncio.gather(*(_abandon(visitor) for visitor in visitors[1:]))
            return alone, await _seconds_of_six_words(visitors[0])

    alone, after = asyncio.run(attack())
    assert after < 2 + alone
    wait_for(lambda: len(line) == 0, 5)  # nothing of the attack is computed any more


def test_programs_that_call_take_turns_in_the_same_line(page: tuple[str, VisitorScheduler]) -> None:
    address, _ = page
    joined: list[tuple[tuple[str, ...], str]] = []
    with pytest.MonkeyPatch.context() as patch:
        join = VisitorScheduler.submit

        def noting(self: VisitorScheduler, visitor: tuple[str, ...], name: str, lane: str) -> Job:
            joined.append((visitor, name))
            return join(self, visitor, name, lane)

        patch.setattr(VisitorScheduler, "submit", noting)
        client = Client(address, verbose=False)
        answer = client.predict("The king of France is [MASK].", "wiki-mini", 3, api_name="/fill_mask")
        client.close()
    assert len(answer["masks"][0]["candidates"]) == 3
    ((visitor, name),) = joined
    assert (visitor[0], name) == ("127.0.0.1", "api.fill_mask")
