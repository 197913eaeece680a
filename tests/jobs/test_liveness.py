"""Whether a run is still trained: told by its process, by its lock, or by what it last reported."""

import json
import os
import platform
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from bertviz_lab.jobs import Runs, worker
from bertviz_lab.training.checkpoints.atomic_io import is_locked, write_json
from bertviz_lab.training.runs.events import Preparing
from bertviz_lab.training.runs.run_folder import record
from tests.jobs.support import settings

RUN = "kind-otter-0123456789abcdef"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / RUN).mkdir()
    write_json(tmp_path / RUN / "config.json", settings().to_dict())
    return tmp_path / RUN


def put_state(folder: Path, host: str, seconds_ago: float) -> None:
    body = {"status": "training", "pid": 2**22 + 1, "host": host, "updated": time.time() - seconds_ago, "step": 7}
    write_json(folder / "state.json", body)


def state_of(folder: Path):
    return Runs(folder.parent).state(RUN)


def test_a_run_of_another_machine_trains_while_it_holds_the_lock_that_the_shared_disk_shows(folder: Path) -> None:
    put_state(folder, "another", seconds_ago=3_600)
    holder = "import sys; from filelock import FileLock\nwith FileLock(sys.argv[1]): print(flush=True); input()"
    command = [sys.executable, "-c", holder, str(folder / ".lock")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert state_of(folder).status == "training"
        process.communicate(b"\n")
    assert state_of(folder).status == "failed"


def test_where_no_lock_shows_a_run_of_another_machine_trains_as_long_as_it_reports(folder: Path) -> None:
    put_state(folder, "another", seconds_ago=20)
    assert state_of(folder).status == "training"
    put_state(folder, "another", seconds_ago=300)
    state = state_of(folder)
    assert (state.status, state.step) == ("failed", 7)
    assert state.message.startswith("The training process, on another machine, was last heard of 5 min ago; if it has")


def test_a_run_of_this_machine_without_its_process_has_failed_at_once(folder: Path) -> None:
    for host in (platform.node(), ""):
        put_state(folder, host, seconds_ago=1)
        state = state_of(folder)
        assert state.status == "failed"
        assert state.message.startswith("The training process ended unexpectedly")


def test_a_run_that_python_code_trains_is_not_called_failed(folder: Path) -> None:
    events = record(iter([Preparing("read", 0, 0, "Reading")] * 2), folder)
    next(events)
    assert json.loads((folder / "state.json").read_text())["pid"] == os.getpid(), "a process of another name"
    assert state_of(folder).status == "preparing"
    events.close()


def test_many_who_look_at_once_see_no_run_where_none_is(folder: Path) -> None:
    (folder / ".lock").touch()
    with ThreadPoolExecutor(16) as pool:
        assert not any(pool.map(is_locked, [folder / ".lock"] * 2_000))


def test_a_run_stops_when_the_server_that_started_it_is_gone(folder: Path) -> None:
    stop = threading.Event()
    server = os.getppid() + 1  # not the process that this one belongs to
    threading.Thread(target=worker._watch, args=(folder, server, stop, float("inf")), daemon=True).start()
    assert stop.wait(10)
