"""The queue of runs that wait for a free place."""

import os
import threading
from pathlib import Path

import pytest

from bertviz_lab import InputError
from bertviz_lab.jobs import Runs
from bertviz_lab.jobs import runs as runs_module
from bertviz_lab.training.runs.run_folder import read_state
from tests.processes import settings, wait_for


@pytest.fixture(autouse=True)
def _look_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs_module, "_POLL_SECONDS", 0.1)


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the runs that were launched, in order; instead of a process each gets a state."""
    names: list[str] = []

    def launch(self: Runs, folder: Path) -> None:
        runs_module.write_state(folder, runs_module.RunState("training", pid=os.getpid()))
        names.append(folder.name)  # last: a test that sees the name may end the run at once

    monkeypatch.setattr(Runs, "_launch", launch)
    monkeypatch.setattr(runs_module, "is_alive", lambda state, folder: bool(state.pid))
    return names


def end(runs: Runs, run_id: str) -> None:
    runs_module.write_state(runs.folder(run_id), runs_module.RunState("finished"))


def test_runs_beyond_the_limit_are_queued_in_order(runs: Runs, launched) -> None:
    first, second, third, fourth = (runs.start(settings()) for _ in range(4))
    assert launched == [first]
    assert [runs.state(run).status for run in (first, second, third, fourth)] == ["training", *["waiting"] * 3]
    assert runs.state(second).message == "It is next in the queue."
    assert runs.state(third).message == "One other is before it in the queue."
    assert runs.state(fourth).message == "2 others are before it in the queue."
    end(runs, first)
    wait_for(lambda: launched == [first, second], 30)
    assert runs.state(third).message == "It is next in the queue."
    end(runs, second)
    wait_for(lambda: launched == [first, second, third], 30)


def test_a_run_removed_from_the_queue_is_not_launched_and_can_be_queued_again(runs: Runs, launched) -> None:
    first, second, third = (runs.start(settings()) for _ in range(3))
    runs.stop(second)
    assert runs.state(second).status == "stopped"
    assert runs.state(third).message == "It is next in the queue."
    runs.resume(second)
    assert runs.state(second).message == "One other is before it in the queue."
    end(runs, first)
    wait_for(lambda: launched == [first, third], 30)
    end(runs, third)
    wait_for(lambda: launched == [first, third, second], 30)


def test_the_queue_survives_a_restart_of_the_server(runs: Runs, launched) -> None:
    first, second, third = (runs.start(settings()) for _ in range(3))
    for run in (second, third):
        assert read_state(runs.folder(run)).status == "waiting"  # all that is known of it is in its folder
    again = Runs(runs.root, most_running=1)
    again.start_queue()
    assert launched == [first], "the first has not ended yet"
    end(again, first)
    wait_for(lambda: launched == [first, second], 30)
    assert again.state(third).status == "waiting"


def test_two_servers_launch_no_run_twice(runs: Runs, launched) -> None:
    names = [runs.start(settings()) for _ in range(6)]
    servers = [Runs(runs.root, most_running=6) for _ in range(8)]
    threads = [threading.Thread(target=server.start_queue) for server in servers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert launched == names


def test_a_run_that_cannot_be_launched_now_is_launched_later(runs: Runs, launched, monkeypatch) -> None:
    first, second = runs.start(settings()), runs.start(settings())
    works, failures = Runs._launch, []

    def full(self: Runs, folder: Path) -> None:
        failures.append(folder.name)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Runs, "_launch", full)
    end(runs, first)
    wait_for(lambda: len(failures) > 1, 5)
    assert runs.state(second).status == "waiting"
    monkeypatch.setattr(Runs, "_launch", works)
    wait_for(lambda: launched == [first, second], 30)


def test_a_run_that_trains_or_waits_is_not_deleted_and_one_that_has_ended_is(
    runs: Runs, text: Path, launched: list[str]
) -> None:
    limited = Runs(runs.root, most_running=1)
    first, second = (limited.start(settings(), (text,)) for _ in range(2))
    for run_id in (first, second):
        with pytest.raises(InputError, match="stop it before"):
            limited.delete(run_id)
    end(limited, first)
    limited.delete(first)
    assert first not in limited.ids()
    assert not [path for path in runs.root.iterdir() if first in path.name]
    with pytest.raises(InputError, match="There is no run"):
        limited.delete(first)


def test_a_start_is_told_from_the_time_budgets_of_those_before(runs: Runs, launched: list[str]) -> None:
    first, second, third = (runs.start(settings(steps=None, time_budget="3m")) for _ in range(3))
    assert runs.state(second).message == "It is next in the queue; it starts in about 3 min."
    assert runs.state(third).message == "One other is before it in the queue; it starts in about 6 min."
    assert runs.queue_seconds() == pytest.approx(3 * (180.0 + runs_module.PREPARING_SECONDS), abs=10.0)
    state = runs_module.RunState("training", pid=os.getpid(), step=7, seconds=90.0, eta_seconds=60.0)
    runs_module.write_state(runs.folder(first), state)
    runs.start_queue()
    assert runs.state(second).message.endswith("it starts in about 1 min.")


@pytest.mark.parametrize("cookies", [["eager"] * 5, ["e1", "e2", "e3", "e4", "e5"]])
def test_five_runs_of_one_address_do_not_hold_up_the_first_of_another(
    runs: Runs, launched: list[str], cookies: list[str]
) -> None:
    """However many cookies the address has made up, and whichever server looks at the queue."""
    eager = [runs.start(settings(), owner=owner, address="192.0.2.1") for owner in cookies]
    calm = runs.start(settings(), owner="calm", address="192.0.2.2")
    assert launched == eager[:1]
    assert runs.state(calm).message == "It is next in the queue."
    assert Runs(runs.root, most_running=1).queue() == (calm, *eager[1:])
    runs_module.write_state(runs.folder(eager[0]), runs_module.RunState("finished", seconds=60.0))
    wait_for(lambda: launched == [eager[0], calm], 30)
    runs_module.write_state(runs.folder(calm), runs_module.RunState("finished", seconds=60.0))
    wait_for(lambda: launched == [eager[0], calm, eager[1]], 30)


def test_a_run_does_not_reveal_the_address_that_started_it(runs: Runs, launched: list[str]) -> None:
    first, second = (runs.start(settings(), owner="me", address="192.0.2.1") for _ in range(2))
    assert runs.visitor(first) == Runs(runs.root).visitor(second) == (runs.address_tag("192.0.2.1"), "me")
    assert runs.visitor(first)[1] == "me"
    assert not [path for path in runs.root.rglob("*") if path.is_file() and b"192.0.2" in path.read_bytes()]
