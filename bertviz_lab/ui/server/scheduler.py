"""The scheduler as the server uses it: for coroutines that answer questions, and for threads that read files.

A route awaits `answer`, and asks for `progress` or cancels by the ticket of a question. A computation calls
`report_progress(share)`. What needs a confined process enters `file_worker`.
"""

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any, TypeVar

from anyio import CapacityLimiter, to_thread
from starlette.requests import Request

from bertviz_lab.config.limits import Limits
from bertviz_lab.errors import InputError
from bertviz_lab.jobs.scheduler import Cancelled, Capacity, Job, Scheduler, Visitor
from bertviz_lab.ui.server.visitors import NOBODY

__all__ = ["Cancelled", "VisitorScheduler", "report_progress"]

ResultT = TypeVar("ResultT")

_PLACES = {"quick": 8, "slow": 2, "files": 2}  # of all visitors together
_SECONDS = {"quick": 0.1, "slow": 2.0, "files": 2.0}  # expected before anything was measured
_POLL_SECONDS = 0.2  # between two checks whether the client is still connected
_LONGEST_WAIT = 60.0  # seconds, for a file worker
_CURRENT: ContextVar[Job | None] = ContextVar("job", default=None)


class VisitorScheduler(Scheduler):
    """Questions and file workers of all visitors."""

    def __init__(self, limits: Limits) -> None:
        """On a shared page no visitor takes more than half of the places of a kind."""
        share = 2 if limits.shared else 1
        kinds = {kind: Capacity(places, places // share, _SECONDS[kind]) for kind, places in _PLACES.items()}
        super().__init__(kinds, limits.questions_waiting, limits.visitors)
        self._tickets: dict[str, Job] = {}
        # Threads of its own: computing takes none from Gradio.
        self._threads = CapacityLimiter(_PLACES["quick"] + _PLACES["slow"])
        self._computing, self._idle = 0, threading.Condition()

    async def answer(
        self,
        compute: Callable[[], ResultT],
        visitor: Visitor,
        name: str,
        *,
        slow: bool = False,
        ticket: str = "",
        request: Any = None,
    ) -> ResultT:
        """Return the result of `compute`, called in a thread when it is the turn of the visitor.

        `ticket` names the question for `progress` and `cancel_ticket`. It is cancelled when the connection of
        `request`, one of Starlette, is closed. Raises `InputError` with the reason where it was cancelled.
        """
        job = self.submit(visitor, name, "slow" if slow else "quick")
        self._tickets[ticket] = job
        watcher = asyncio.create_task(self._cancel_when_disconnected(job, request))
        reset = _CURRENT.set(job)
        try:
            await asyncio.wrap_future(job.ready)
            job.check()
            return await to_thread.run_sync(self.run, compute, limiter=self._threads, abandon_on_cancel=False)
        except Cancelled:
            raise InputError(job.cancelled) from None
        finally:
            self.finish(job)
            _CURRENT.reset(reset)
            watcher.cancel()
            if self._tickets.get(ticket) is job:
                del self._tickets[ticket]

    def run(self, compute: Callable[[], ResultT]) -> ResultT:
        """Return the result of `compute`, called in this thread; `wait` waits for it."""
        with self._idle:
            self._computing += 1
        try:
            return compute()
        finally:
            with self._idle:
                self._computing -= 1
                self._idle.notify_all()

    def wait(self, seconds: float = 10.0) -> None:
        """Wait until no thread computes, for a limited time.

        A thread that PyTorch computes in while Python ends takes the whole process down ("terminate called ...").
        """
        with self._idle:
            self._idle.wait_for(lambda: not self._computing, seconds)

    @contextlib.contextmanager
    def file_worker(self) -> Iterator[Callable[[], None]]:
        """Wait in this thread for a file worker of the visitor whose question it answers, and hold it.

        The value is a function that raises `Cancelled` where that question was cancelled. Raises `InputError` after a
        minute of waiting.
        """
        question = _CURRENT.get()
        job = self.submit(question.visitor if question else NOBODY, "file worker", "files")
        check = question.check if question else job.check
        try:
            if question:
                question.waits_for = job
            end = time.monotonic() + _LONGEST_WAIT
            while not job.ready.done():
                with contextlib.suppress(TimeoutError):
                    job.ready.result(_POLL_SECONDS)
                check()
                if time.monotonic() > end:
                    raise InputError("The server is busy with the files of others; try again in a minute.")
            if job.cancelled:
                raise InputError(job.cancelled)
            yield check
        finally:
            if question:
                question.waits_for = None
            self.finish(job)

    def progress(self, ticket: str) -> dict[str, Any]:
        """Return the `share` done of a question; while it waits, the jobs `before` it and the `seconds` they take."""
        job = self._tickets.get(ticket)
        start = job and self.start_of(job.waits_for or job)
        before, seconds = (start.before, start.seconds) if start else (None, None)
        return {"share": job.share if job else 0.0, "before": before, "seconds": seconds}

    def cancel_ticket(self, ticket: str, visitor: Visitor) -> None:
        job = self._tickets.get(ticket)
        if job and job.visitor == visitor:
            self.cancel(job, "The client cancelled the request.")

    async def _cancel_when_disconnected(self, job: Job, request: Any) -> None:
        while isinstance(request, Request) and not job.cancelled:
            await asyncio.sleep(_POLL_SECONDS)
            if await request.is_disconnected():
                self.cancel(job, "The client disconnected.")


def report_progress(share: float) -> None:
    """Report the share that is done of the current question. Raises `Cancelled` where it was cancelled."""
    job = _CURRENT.get()
    if job is not None:
        job.report(share)
