"""Questions in coroutines and file workers in threads, scheduled for all visitors."""

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from bertviz_lab.config.limits import Limits
from bertviz_lab.errors import InputError
from bertviz_lab.jobs.scheduler import Cancelled
from bertviz_lab.ui.server import scheduler as scheduler_module
from bertviz_lab.ui.server.scheduler import VisitorScheduler, report_progress

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
