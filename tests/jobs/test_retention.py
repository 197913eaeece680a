"""Which runs are alive, and which are deleted."""

import json
import os
import platform
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from bertviz_lab.config import PretrainConfig
from bertviz_lab.config.limits import DAY, Limits
from bertviz_lab.jobs import Runs, worker
from bertviz_lab.jobs.retention import delete_expired, deleted_at
from bertviz_lab.training.checkpoints.atomic_io import is_locked, write_json
from bertviz_lab.training.runs.events import Preparing
from bertviz_lab.training.runs.run_folder import RunState, record
from tests.processes import settings

NOW = 1_000_000_000.0


@pytest.fixture
def runs(tmp_path: Path, alive: None) -> Runs:
    """Runs that ended 1, 2, ... days ago, of 100 kB each, and one that has been training for a long time."""
    for days in range(1, 6):
        make(tmp_path, f"run-{days}", "finished", NOW - days * DAY)
    make(tmp_path, "training", "training", NOW - 30 * DAY, pid=os.getpid())
    return Runs(tmp_path)


def make(root: Path, name: str, status: str, updated: float, pid: int = 0) -> None:
    folder = root / name
    folder.mkdir()
    write_json(folder / "config.json", PretrainConfig(corpus=("sample:tiny-town",)).to_dict())
    write_json(folder / "state.json", {"status": status, "updated": updated, "pid": pid})
    (folder / "model").write_bytes(bytes(100_000))


@pytest.fixture
def alive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bertviz_lab.jobs.runs.is_alive", lambda *_: True)


def test_the_oldest_go_by_age_and_by_room_but_never_one_at_work(runs: Runs) -> None:
    limits = replace(Limits.of(shared=True), run_age=2.5 * DAY)
    assert set(delete_expired(runs, limits, NOW)) == {"run-3", "run-4", "run-5"}
    assert set(runs.ids()) == {"run-1", "run-2", "training"}
    assert delete_expired(runs, limits, NOW) == ()
    delete_expired(runs, replace(Limits.of(shared=True), runs_space=1, run_age=1.0), NOW)
    assert runs.ids() == ("training",)


def test_the_oldest_go_where_there_is_no_room(runs: Runs) -> None:
    limits = replace(Limits.of(shared=True), runs_space=350_000)
    assert delete_expired(runs, limits, NOW) == ("run-5", "run-4", "run-3")
    assert set(runs.ids()) == {"run-1", "run-2", "training"}


def test_no_visitor_evicts_the_runs_of_another(tmp_path: Path) -> None:
    """The oldest of all went first, so that who made many runs removed everybody else's."""
    runs = Runs(tmp_path)
    for days, (name, address, owner) in enumerate(
        [("calm", "192.0.2.2", "c"), *((f"eager-{n}", "192.0.2.1", f"cookie {n % 2}") for n in range(5))][::-1], 1
    ):
        make(tmp_path, name, "finished", NOW - days * DAY)
        (tmp_path / name / "owner").write_text(f"{owner}\n{runs.address_tag(address)}", encoding="utf-8")
    deleted = delete_expired(runs, replace(Limits.of(shared=True), runs_space=250_000), NOW)
    assert deleted == ("eager-0", "eager-1", "eager-2", "eager-3")  # the browser with three, then both in turn
    assert "calm" in runs.ids(), "although it is the oldest"


def test_what_an_interrupted_deletion_left_is_removed(runs: Runs) -> None:
    left = runs.root / ".deleted-run-9"
    left.mkdir()
    (left / "model").write_bytes(b"x")
    delete_expired(runs, Limits(), time.time())
    assert not left.exists()


def test_a_local_page_keeps_its_runs_and_a_shared_one_says_until_when() -> None:
    state = RunState("finished", updated=NOW)
    assert deleted_at(state, Limits.of(shared=False)) is None
    assert deleted_at(state, Limits.of(shared=True)) == NOW + 7 * DAY
    assert deleted_at(replace(state, status="training"), Limits.of(shared=True)) is None


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
