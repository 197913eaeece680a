"""Confined work: answers are data, limits hold, and what goes wrong is said in one sentence."""

import contextlib
import math
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial

import psutil
import pytest

from bertviz_lab import InputError
from bertviz_lab.confined import Confinement, MemoryLimitError, TimeLimitError, Workers, run_confined
from tests.confined import work
from tests.processes import wait_for

LIMITS = Confinement(memory_bytes=500_000_000, seconds=5)

linux = pytest.mark.skipif(sys.platform != "linux", reason="the kernel holds these limits on Linux")


@pytest.fixture(params=["new", pytest.param("copied", marks=linux)])
def run(request) -> Iterator[Callable]:
    """How work is done: in a new process, or in the copy of one that has its imports done."""
    workers = Workers(("tests.confined.work",))
    yield run_confined if request.param == "new" else workers.run
    workers.close()


def test_an_answer_comes_back_as_the_type_that_is_declared():
    answer = run_confined(partial(work.answer), LIMITS)
    assert isinstance(answer, work.Answer)
    assert answer.words[0] == "été"
    assert answer.words[1].isascii(), "a lone surrogate is replaced"
    assert math.isnan(answer.shares["nan"])
    assert answer.shares["most"] == math.inf


def test_work_that_refuses_says_why():
    from bertviz_lab.config import parse_duration

    with pytest.raises(InputError, match="is not a length of time"):
        run_confined(partial(parse_duration, "soon"), LIMITS)


@linux
def test_memory_is_limited_also_for_a_library_that_ends_the_process(run):
    assert run(partial(work.bytes_of, 300_000_000), LIMITS) == 300_000_000
    with pytest.raises(MemoryLimitError, match=r"^This file needs more than 500 MB of memory to read\.$"):
        run(partial(work.bytes_of, 700_000_000), LIMITS)
    with pytest.raises(MemoryLimitError):
        run(partial(work.aborts), LIMITS)


def test_a_worker_that_ends_without_an_answer_is_an_error(run):
    with pytest.raises(RuntimeError, match="ended with status 3"):
        run(partial(work.dies, 3), LIMITS)


@linux
def test_computing_time_is_limited(run):
    with pytest.raises(TimeLimitError, match=r"^This archive takes more than 1 s to open\.$"):
        run(partial(work.endless), Confinement(500_000_000, 1, subject=("This archive", "open")))


def test_a_worker_is_ended_by_the_clock_and_by_its_memory_where_the_kernel_has_no_limit(monkeypatch):
    monkeypatch.setattr("bertviz_lab.confined.run._GRACE_SECONDS", 0.5)
    with pytest.raises(TimeLimitError):
        run_confined(partial(work.asleep), Confinement(500_000_000, 0.2))
    sizes = iter(range(0, 10**10, 10**8))
    monkeypatch.setattr("bertviz_lab.confined.run._KERNEL_LIMITS_MEMORY", False)
    monkeypatch.setattr("bertviz_lab.confined.run._resident", lambda pid: next(sizes))
    start = time.monotonic()
    with pytest.raises(MemoryLimitError):
        run_confined(partial(work.asleep), LIMITS)
    assert time.monotonic() - start < 10


def test_long_answers_and_mistakes_are_told_without_what_the_file_holds():
    with pytest.raises(InputError, match="This file holds more than this page can show"):
        run_confined(partial(work.wordy, 2_000_000), Confinement(500_000_000, 5, answer_bytes=1_000_000))
    with pytest.raises(RuntimeError, match=r"^mistaken in a confined process: KeyError at work\.py:\d+$"):
        run_confined(partial(work.mistaken), LIMITS)


def test_what_work_prints_is_no_part_of_its_answer_and_there_is_no_input(run):
    assert run(partial(work.printing), LIMITS) == ""


@linux
def test_workers_write_no_files_unless_allowed_and_open_few(tmp_path):
    with pytest.raises(RuntimeError, match="OSError"):
        run_confined(partial(work.writing, tmp_path / "a", 1000), LIMITS)
    assert run_confined(partial(work.writing, tmp_path / "b", 1000), Confinement(500_000_000, 5, 1000)) == 1000
    with pytest.raises(RuntimeError, match="OSError"):
        run_confined(partial(work.many_sockets), LIMITS)


def test_an_answer_of_another_type_is_an_error_and_nothing_is_unpickled(tmp_path):
    with pytest.raises(RuntimeError):
        run_confined(partial(work.lying), LIMITS)
    with pytest.raises(RuntimeError):
        run_confined(partial(work.harmful, tmp_path / "ran"), LIMITS)
    assert not (tmp_path / "ran").exists()


@linux
def test_each_piece_of_work_has_a_copy_of_its_own_of_a_process_that_is_ready():
    workers = Workers(("tests.confined.work",))
    workers.warm_up()
    ready = ready_of(workers)
    first, second = (workers.run(partial(work.process_ids), LIMITS) for _ in range(2))
    assert first != second
    assert ready not in (*first, *second)
    assert ready_of(workers) == ready
    wait_for(lambda: not any(psutil.pid_exists(pid) for pid in (*first, *second)))
    workers.close()
    wait_for(lambda: not psutil.pid_exists(ready))


@linux
def test_a_copy_that_waits_is_killed(monkeypatch):
    monkeypatch.setattr("bertviz_lab.confined.run._GRACE_SECONDS", 0.5)
    workers = Workers(("tests.confined.work",))
    workers.warm_up()
    ready = ready_of(workers)
    with pytest.raises(TimeLimitError):
        workers.run(partial(work.asleep), Confinement(500_000_000, 0.2))
    wait_for(lambda: not psutil.Process(ready).children(recursive=True))
    workers.close()


@linux
def test_the_process_that_is_copied_is_replaced_when_it_has_died():
    workers = Workers()
    workers.warm_up()
    ready = ready_of(workers)
    psutil.Process(ready).kill()
    assert workers.run(partial(work.wordy, 2), LIMITS) == "aa"
    assert workers.run(partial(work.wordy, 2), LIMITS) == "aa"
    assert ready_of(workers) != ready
    workers.close()


@linux
def test_nothing_stays_when_the_side_that_asks_is_killed():
    code = (
        "import os, time; from bertviz_lab.confined import Workers; w = Workers(); w.warm_up(); "
        "print(w._template.pid, flush=True); time.sleep(60)"
    )
    asker = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert asker.stdout is not None
    ready = int(asker.stdout.readline())
    asker.kill()
    asker.communicate()
    wait_for(lambda: not psutil.pid_exists(ready))


@pytest.mark.parametrize("copied", [pytest.param(True, marks=linux), False])
def test_a_worker_inherits_no_secrets(monkeypatch, copied):
    for name in ("HF_TOKEN", "BERTVIZ_LAB_AUTH", "AWS_SECRET_ACCESS_KEY", "UNHEARD_OF"):
        monkeypatch.setenv(name, "secret")
    monkeypatch.setattr("bertviz_lab.confined.run.CAN_COPY", copied)
    workers = Workers()
    names = workers.run(partial(work.environment), LIMITS)
    workers.close()
    assert "PATH" in names
    assert not {"HF_TOKEN", "BERTVIZ_LAB_AUTH", "AWS_SECRET_ACCESS_KEY", "UNHEARD_OF"} & set(names)


@pytest.mark.parametrize("copied", [pytest.param(True, marks=linux), False])
def test_cancelled_work_ends_at_once(monkeypatch, copied):
    monkeypatch.setattr("bertviz_lab.confined.run.CAN_COPY", copied)
    checks = []

    def check() -> None:
        checks.append(1)
        if len(checks) > 3:
            raise RuntimeError("cancelled")

    workers = Workers(("tests.confined.work",), lambda: contextlib.nullcontext(check))
    began = time.monotonic()
    with pytest.raises(RuntimeError, match="cancelled"):
        workers.run(partial(work.asleep), LIMITS)
    assert time.monotonic() - began < 20
    wait_for(lambda: not [p for p in psutil.Process().children() if "confined.worker" in " ".join(p.cmdline())])
    workers.close()


def ready_of(workers: Workers) -> int:
    """The process that is copied."""
    assert workers._template is not None
    return workers._template.pid
