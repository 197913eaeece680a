"""Ask a process of its own to do some work, and believe nothing that it answers beyond data of the declared type.

The work is a `functools.partial` of a function at the top of a module, whose return annotation declares the answer.
It goes to the process as a pickle; the answer comes back as JSON, checked by pydantic against that type, because who
has read a hostile file may have been taken over by it. On Linux the kernel holds the limits (setrlimit); elsewhere the
asking side looks at the memory of the process twenty times a second.
"""

import contextlib
import pickle
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, TypeVar, get_type_hints

import psutil
from pydantic import BaseModel, TypeAdapter, ValidationError

from bertviz_lab.config.limits import words_of
from bertviz_lab.confined.channel import CAN_COPY, Channel, Template, start_worker
from bertviz_lab.errors import InputError

AnswerT = TypeVar("AnswerT")

_KERNEL_LIMITS_MEMORY = sys.platform == "linux"
_POLL_SECONDS = 0.05
_PATIENCE = 3.0  # times the CPU time that may pass on the clock: a busy machine, a disk that is slow
_GRACE_SECONDS = 10.0  # for the start

#: Waits for a place and holds it; the value is a function that raises where the work was cancelled.
Admission = Callable[[], contextlib.AbstractContextManager[Callable[[], None]]]


@dataclass(frozen=True)
class Confinement:
    """What a piece of work may take: memory beyond that of the started process, CPU time, sizes of what it writes."""

    memory_bytes: int
    seconds: float
    file_bytes: int = 0  # of a file that it writes
    answer_bytes: int = 64 << 20
    #: A noun and a verb for the sentences about limits, such as "This file needs more than 2 GB of memory to read".
    subject: tuple[str, str] = ("This file", "read")


class MemoryLimitError(InputError):
    """The work needs more memory than it may take."""


class TimeLimitError(InputError):
    """The work needs more time than it may take."""


class WorkerReply(BaseModel):
    """How a worker's answer begins; the result itself is in `result`, still to be checked against its type."""

    outcome: Literal["done", "refused", "memory", "failed"]
    reason: str = ""


def run_confined(work: "partial[AnswerT]", limits: Confinement) -> AnswerT:
    """Return the answer of `work`, done in a new process; `Workers` is faster where much is to be imported first.

    Raises what `work` refuses as `InputError`, `MemoryLimitError`, `TimeLimitError`, and `RuntimeError` for a mistake
    in the code that worked.
    """
    return _do(start_worker(), work, limits, lambda: None)


class Workers:
    """Does confined work, on Linux in copies of a process that has its imports done.

    `admit` decides when a piece of work begins; without it, at once.
    """

    def __init__(self, preload: Sequence[str] = (), admit: Admission | None = None) -> None:
        self._preload = tuple(preload)
        self._admit = admit or (lambda: contextlib.nullcontext(lambda: None))
        self._lock = threading.Lock()
        self._template: Template | None = None

    def warm_up(self) -> None:
        """Start the process that is copied, unless there is one."""
        if CAN_COPY:
            with self._lock:
                if self._template is None or not self._template.is_alive:
                    self._template = Template(self._preload)

    def run(self, work: "partial[AnswerT]", limits: Confinement) -> AnswerT:
        """Do as `run_confined`. Raises also what `admit` raises."""
        with self._admit() as check_cancelled:
            return _do(self._worker(), work, limits, check_cancelled)

    def close(self) -> None:
        """End the process that is copied."""
        with self._lock:
            if self._template is not None:
                self._template.end()
            self._template = None

    def _worker(self) -> Channel:
        self.warm_up()
        with contextlib.suppress(OSError):  # it was killed just now
            if template := self._template:
                return template.copy()
        return start_worker()


def _do(worker: Channel, work: "partial[AnswerT]", limits: Confinement, check_cancelled: Callable[[], None]) -> AnswerT:
    try:
        answer = _exchange(worker, pickle.dumps((work, limits)), limits, check_cancelled)
        if len(answer) > limits.answer_bytes:
            raise InputError(f"{limits.subject[0]} holds more than this page can show; give a part of it.")
        status = worker.wait()
    finally:
        worker.end()
    head, _, result = answer.partition(b"\n")
    try:
        reply = WorkerReply.model_validate_json(head)
        if reply.outcome == "done":
            return TypeAdapter[AnswerT](get_type_hints(work.func)["return"]).validate_json(result)
    except ValidationError:
        reply = WorkerReply(outcome="failed", reason=f"ended with status {status}")
    if reply.outcome == "refused":
        raise InputError(reply.reason)
    if status == -getattr(signal, "SIGXCPU", 0) != 0:
        raise _out_of_time(limits)
    # Libraries that get no memory often end the process themselves.
    if reply.outcome == "memory" or status < 0:
        raise _out_of_memory(limits)
    raise RuntimeError(f"{work.func.__qualname__} in a confined process: {reply.reason}")


def _exchange(worker: Channel, request: bytes, limits: Confinement, check_cancelled: Callable[[], None]) -> bytes:
    """Send the work and wait for all of the answer. Raises `InputError`, and what `check_cancelled` raises."""
    received: list[bytes] = []
    reader = threading.Thread(target=lambda: received.append(worker.answer.read(limits.answer_bytes + 1)), daemon=True)
    reader.start()
    with contextlib.suppress(OSError):  # it has died: there will be no answer
        worker.request.write(request)
        worker.request.close()
    deadline = time.monotonic() + _PATIENCE * limits.seconds + _GRACE_SECONDS
    before = _resident(worker.pid)
    while reader.is_alive():
        reader.join(_POLL_SECONDS)
        check_cancelled()
        if time.monotonic() > deadline:
            raise _out_of_time(limits)
        if not _KERNEL_LIMITS_MEMORY and _resident(worker.pid) - before > limits.memory_bytes:
            raise _out_of_memory(limits)
    return received[0] if received else b""


def _out_of_memory(limits: Confinement) -> MemoryLimitError:
    noun, verb = limits.subject
    return MemoryLimitError(f"{noun} needs more than {words_of('bytes', limits.memory_bytes)} of memory to {verb}.")


def _out_of_time(limits: Confinement) -> TimeLimitError:
    noun, verb = limits.subject
    return TimeLimitError(f"{noun} takes more than {words_of('seconds', limits.seconds)} to {verb}.")


def _resident(pid: int) -> int:
    try:
        return int(psutil.Process(pid).memory_info().rss)
    except psutil.Error:
        return 0


def reply_bytes(reply: WorkerReply, result: Any = b"") -> bytes:
    """Return what a worker sends: its outcome as a line, then the result as JSON."""
    return reply.model_dump_json().encode() + b"\n" + result
