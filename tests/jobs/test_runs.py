import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from bertviz_lab import InputError, PretrainConfig, load_checkpoint
from bertviz_lab.jobs import Runs
from bertviz_lab.jobs.names import new_run_id, short_name
from tests.little import little_text


def settings(**changes: object) -> PretrainConfig:
    options = {"corpus": ("x",), "preset": "tiny", "steps": 100_000, "seq_len": 16, "batch_size": 4, "threads": 1}
    return PretrainConfig(**(options | {"vocab_size": 200, "checkpoint_every": 2.0, "precision": "fp32"} | changes))


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "a <b>& text.txt"
    path.write_text(little_text(), encoding="utf-8")
    return path


@pytest.fixture
def runs(tmp_path: Path):
    runs = Runs(tmp_path / "runs", most_active=1, nice=0)
    yield runs
    for run_id in runs.ids():
        pid = runs.state(run_id).pid
        if pid and psutil.pid_exists(pid) and run_id in " ".join(psutil.Process(pid).cmdline()):
            os.kill(pid, signal.SIGKILL)


def wait_for(condition: Callable[[], bool], seconds: float = 90) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.1)


def test_a_run_is_named_so_that_nobody_can_guess_it() -> None:
    names = {new_run_id() for _ in range(200)}
    assert len(names) == 200
    assert all(len(name.rsplit("-", 1)[1]) == 16 for name in names)
    assert short_name("kind-otter-0123456789abcdef") == "kind-otter"


def test_a_run_trains_stops_and_goes_on_where_it_was(runs: Runs, text: Path) -> None:
    run = runs.start(settings(), (text,))
    assert runs.state(run).status in ("starting", "preparing", "training")
    wait_for(lambda: runs.state(run).step > 3)
    runs.stop(run)
    wait_for(lambda: runs.state(run).status == "stopped")
    stopped_at = runs.state(run).step
    assert load_checkpoint(runs.state(run).model).architecture == "BertForPreTraining"

    runs.resume(run)
    wait_for(lambda: runs.state(run).step > stopped_at)
    started = [row for row in runs.events(run)[0] if row["event"] == "RunStarted"]
    assert [row["step"] for row in started] == [0, stopped_at]
    steps = [row["step"] for row in runs.events(run)[0] if row["event"] == "StepDone"]
    assert steps == sorted(set(steps))


def test_a_killed_run_is_seen_as_failed_and_can_go_on(runs: Runs, text: Path) -> None:
    run = runs.start(settings(checkpoint_every=0.2), (text,))
    wait_for(lambda: bool(runs.state(run).model))
    os.kill(runs.state(run).pid, signal.SIGKILL)
    wait_for(lambda: runs.state(run).status == "failed")
    assert "resume" in runs.state(run).message
    runs.resume(run)
    wait_for(lambda: runs.state(run).status == "training")
    assert [r["step"] for r in runs.events(run)[0] if r["event"] == "RunStarted"][1] > 0


def test_a_finished_run_leaves_a_model_and_is_not_resumed(runs: Runs, text: Path) -> None:
    run = runs.start(settings(steps=3), (text,))
    wait_for(lambda: runs.state(run).status == "finished")
    assert Path(runs.state(run).model).name == "model"
    assert "3 steps" in load_checkpoint(runs.state(run).model).card
    with pytest.raises(InputError, match="finished"):
        runs.resume(run)


def test_the_text_is_kept_with_the_run(runs: Runs, text: Path) -> None:
    run = runs.start(settings(steps=1), (text,))
    text.unlink()
    wait_for(lambda: runs.state(run).status == "finished")


def test_a_text_that_cannot_be_used_ends_the_run_with_one_sentence(runs: Runs, tmp_path: Path) -> None:
    empty = tmp_path / "empty.txt"
    empty.write_bytes(b"")
    run = runs.start(settings(), (empty,))
    wait_for(lambda: runs.state(run).status == "failed")
    assert "empty" in runs.state(run).message
    assert "Traceback" not in runs.state(run).message


def test_no_more_runs_start_than_the_machine_bears(runs: Runs, text: Path) -> None:
    runs.start(settings(), (text,))
    with pytest.raises(InputError, match="under way"):
        runs.start(settings(), (text,))


@pytest.mark.parametrize("name", ["", "..", "../x", "a/b", "nothing-here", "x" * 5000, "a\x00b"])
def test_a_name_that_is_no_run_is_refused(runs: Runs, name: str) -> None:
    with pytest.raises(InputError, match="no run"):
        runs.folder(name)


def test_a_full_disk_is_told_in_one_sentence_and_leaves_nothing(runs: Runs, text: Path, monkeypatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("bertviz_lab.jobs.runs.shutil.copyfile", full)
    with pytest.raises(InputError, match="No space left"):
        runs.start(settings(), (text,))
    assert list(runs.root.iterdir()) == []
