import dataclasses
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from bertviz_lab import InputError, load_checkpoint
from bertviz_lab.config import FinetuneConfig, PretrainConfig
from bertviz_lab.interpret.corpora.results import read_results
from bertviz_lab.jobs import Runs, WorkerProcesses, new_run
from bertviz_lab.jobs.new_run import new_run_id, short_name, with_copies
from bertviz_lab.jobs.processes import is_worker
from bertviz_lab.jobs.worker import _explained
from bertviz_lab.training.checkpoints.atomic_io import write_json
from bertviz_lab.training.runs.events import Event
from bertviz_lab.training.runs.run_folder import RunState, write_state
from bertviz_lab.training.runs.summary import RunNotes
from tests.little import little_folder, little_text
from tests.processes import settings, wait_for
from tests.training.finetuning.support import Files


def test_a_run_is_named_so_that_nobody_can_guess_it() -> None:
    names = {new_run_id() for _ in range(200)}
    assert len(names) == 200
    assert all(len(name.rsplit("-", 1)[1]) == 16 for name in names)
    assert short_name("kind-otter-0123456789abcdef") == "kind-otter"


def test_a_new_run_is_called_like_no_other(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(new_run, "_ADJECTIVES", ["kind"])
    monkeypatch.setattr(new_run, "_ANIMALS", ["crane", "otter", "wren"])
    monkeypatch.setattr(new_run.secrets, "choice", min)
    monkeypatch.setattr(Runs, "start_queue", lambda _: None)
    first = runs.start(settings())
    runs.annotate(first, RunNotes(name="kind-otter"))
    assert [runs.name(run) for run in (first, runs.start(settings()))] == ["kind-otter", "kind-wren"]
    assert runs.name(runs.start(settings())) == "kind-crane"  # all names are taken


def test_a_stopped_run_is_reported_and_resumes_at_the_same_step(
    runs: Runs, text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BERTVIZ_LAB_NOTIFY_COMMAND", f"cat > {tmp_path}/ended")
    runs = dataclasses.replace(runs, processes=WorkerProcesses(nice=3))  # so that the page stays quick
    run = runs.start(settings(), (text,))
    assert runs.state(run).status in ("starting", "preparing", "training")
    wait_for(lambda: runs.state(run).step > 3)
    assert psutil.Process(runs.state(run).pid).nice() == min(19, psutil.Process().nice() + 3)
    runs.stop(run)
    wait_for(lambda: runs.state(run).status == "stopped" and (tmp_path / "ended").is_file())
    wait_for(lambda: (tmp_path / "ended").read_text() != "")
    ending = json.loads((tmp_path / "ended").read_text())
    assert (ending["run"], ending["status"], ending["model"]) == (short_name(run), "stopped", "")
    stopped_at, started_at = runs.state(run).step, runs.started(run)
    assert load_checkpoint(runs.state(run).model).architecture == "BertForPreTraining"

    runs.resume(run)
    wait_for(lambda: runs.state(run).step > stopped_at)
    started = [row for row in runs.events(run)[0] if row["event"] == "RunStarted"]
    assert [row["step"] for row in started] == [0, stopped_at]
    steps = [row["step"] for row in runs.events(run)[0] if row["event"] == "StepDone"]
    assert steps == sorted(set(steps))
    assert runs.started(run) == started_at


def test_a_killed_run_is_failed_and_can_be_resumed(runs: Runs, text: Path) -> None:
    run = runs.start(settings(checkpoint_every=0.2), (text,))
    wait_for(lambda: bool(runs.state(run).model))
    os.kill(runs.state(run).pid, signal.SIGKILL)
    wait_for(lambda: runs.state(run).status == "failed")
    assert "resume" in runs.state(run).message
    runs.resume(run)
    wait_for(lambda: runs.state(run).status == "training")
    assert [r["step"] for r in runs.events(run)[0] if r["event"] == "RunStarted"][1] > 0


def test_a_run_with_a_damaged_state_stops_no_other(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    launched = []
    monkeypatch.setattr(WorkerProcesses, "start", lambda _, folder: launched.append(folder.name))
    damaged = runs.root / "kind-otter-0123456789abcdef"
    damaged.mkdir(parents=True)
    write_json(damaged / "config.json", settings().to_dict())
    for content in ("", '{"status": 3}', '{"status": "waiting", "updated": "now"}'):
        (damaged / "state.json").write_text(content)
        Runs(runs.root).start_queue()  # as a server does when it starts
        assert runs.state(damaged.name).status == "failed"
        run = runs.start(settings())
        assert launched[-1] == run
        write_state(runs.root / run, RunState("finished"))
    runs.resume(damaged.name)
    assert launched[-1] == damaged.name


def test_two_requests_to_resume_start_one_process(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = runs.root / "kind-otter-0123456789abcdef"
    folder.mkdir(parents=True)
    write_state(folder, RunState("stopped", step=5))
    write_json(folder / "config.json", settings().to_dict())
    launched: list[str] = []

    monkeypatch.setattr(WorkerProcesses, "start", lambda _, run: launched.append(run.name))
    late, written = threading.Event(), write_state

    def write_late(run: Path, state: RunState, durable: bool = True) -> None:
        if threading.current_thread().name == "late":
            late.wait(0.5)
        written(run, state, durable)

    monkeypatch.setattr("bertviz_lab.jobs.runs.write_state", write_late)
    second = threading.Thread(target=runs.resume, args=(folder.name,), name="late")
    second.start()
    runs.resume(folder.name)
    late.set()
    second.join()
    assert launched == [folder.name]
    assert runs.state(folder.name).status == "starting"


def test_a_finished_run_leaves_a_model_and_is_not_resumed(runs: Runs, text: Path) -> None:
    run = runs.start(settings(steps=3), (text,))
    text.unlink()  # the run has a copy
    wait_for(lambda: runs.state(run).status == "finished")
    assert Path(runs.state(run).model).name == "model"
    assert "3 steps" in load_checkpoint(runs.state(run).model).card
    with pytest.raises(InputError, match="finished"):
        runs.resume(run)


@pytest.mark.parametrize("name", ["", "..", "../x", "a/b", "nothing-here", "x" * 5000, "a\x00b"])
def test_a_name_that_is_no_run_is_refused(runs: Runs, name: str) -> None:
    with pytest.raises(InputError, match="no run"):
        runs.folder(name)


def test_a_full_disk_is_one_sentence_and_leaves_no_folder(runs: Runs, text: Path, monkeypatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("bertviz_lab.jobs.runs.shutil.copyfile", full)
    with pytest.raises(InputError, match="No space left"):
        runs.start(settings(), (text,))
    assert list(runs.root.iterdir()) == []


def test_a_run_of_a_shared_page_inherits_no_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[dict[str, str]] = []

    def popen(command: list[str], env: dict[str, str], **_: Any) -> Any:
        started.append(env)
        return SimpleNamespace(wait=lambda: 0, stdin=BytesIO())

    monkeypatch.setattr("bertviz_lab.jobs.processes.subprocess.Popen", popen)
    for name in ("HF_TOKEN", "BERTVIZ_LAB_AUTH", "BERTVIZ_LAB_LEADER_KEY", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "secret")
    monkeypatch.setenv("BERTVIZ_LAB_NOTIFY", "https://ntfy.sh/topic")
    for cached in (False, True):
        WorkerProcesses(cached=cached).start(tmp_path)
    shared, local = started
    assert "secret" not in shared.values()
    assert shared["BERTVIZ_LAB_CACHE"] == "none" != local["BERTVIZ_LAB_CACHE"], "nor is its text kept for the next run"
    for name in ("PATH", "BERTVIZ_LAB_NOTIFY"):  # the server's owner hears of every run
        assert shared[name] == local[name]
    assert local["HF_TOKEN"] == "secret"  # the person's own


def test_the_process_that_waits_takes_the_next_run(runs: Runs, text: Path) -> None:
    runs.warm_up()
    waiting = runs.processes._waiting
    assert waiting is not None
    runs.warm_up()
    assert runs.processes._waiting is waiting, "one is enough"
    run = runs.start(settings(), (text,))
    wait_for(lambda: runs.state(run).step > 0)
    assert runs.state(run).pid == waiting.pid
    runs.warm_up()
    assert runs.processes._waiting is None, "another run would have to wait for its place anyway"
    assert (runs.root / run / "worker.log").is_file()


def test_a_waiting_process_that_was_killed_is_replaced(runs: Runs, text: Path) -> None:
    runs.warm_up()
    waiting = runs.processes._waiting
    assert waiting is not None
    os.kill(waiting.pid, signal.SIGKILL)
    wait_for(lambda: not psutil.pid_exists(waiting.pid))
    run = runs.start(settings(), (text,))
    wait_for(lambda: runs.state(run).step > 0)


def test_a_process_that_waits_in_vain_ends(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bertviz_lab.jobs.processes._WAITING_SECONDS", 0.1)
    runs.warm_up()
    waiting = runs.processes._waiting
    assert waiting is not None
    assert waiting.wait(60) == 0
    assert runs.processes._waiting is None


def test_a_later_process_with_the_id_of_a_dead_one_is_not_taken_for_it() -> None:
    worker = subprocess.Popen([sys.executable, "-c", "input()", "bertviz_lab.jobs.worker"], stdin=subprocess.PIPE)
    started = psutil.Process(worker.pid).create_time()
    wait_for(lambda: is_worker(RunState(pid=worker.pid, updated=started + 60)))
    assert not is_worker(RunState(pid=worker.pid, updated=started - 60))
    assert not is_worker(RunState(pid=os.getpid(), updated=started + 60)), "this one trains nothing"
    worker.communicate()
    assert not is_worker(RunState(pid=worker.pid, updated=started + 60))


@pytest.fixture
def long_text(tmp_path: Path) -> Path:
    """Half a minute of work to read and to tokenize."""
    path = tmp_path / "long.txt"
    path.write_text(little_text() * (10_000_000 // len(little_text())), encoding="utf-8")
    return path


def test_a_run_that_is_stopped_while_its_text_is_prepared_is_stopped_in_two_seconds(runs: Runs, long_text: Path):
    run = replace(runs, processes=WorkerProcesses(cached=False)).start(settings(), (long_text,))
    wait_for(lambda: runs.state(run).status == "preparing")
    began = time.monotonic()
    runs.stop(run)
    wait_for(lambda: runs.state(run).status == "stopped", 30)
    assert time.monotonic() - began < 2 + 2, "what is promised, and what a busy machine may add"
    assert [row["event"] for row in runs.events(run)[0]][-1] == "RunFinished"


def test_a_stop_before_the_start_and_a_limit_of_time_end_a_run(runs: Runs, text: Path):
    run = runs.start(settings(), (text,))
    runs.stop(run)
    wait_for(lambda: runs.state(run).status == "stopped")
    assert runs.state(run).step < 100
    run = replace(runs, processes=WorkerProcesses(most_seconds=3.0)).start(settings(), (text,))
    wait_for(lambda: "stopped after 3 s" in runs.state(run).message)
    assert runs.state(run).status == "stopped"


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere memory is watched, not limited")
def test_a_run_beyond_its_memory_says_so(runs: Runs, text: Path) -> None:
    limited = replace(runs, processes=WorkerProcesses(memory_bytes=400_000_000))
    config = settings(preset="medium")
    run_id = limited.start(config, (text,))
    wait_for(lambda: limited.state(run_id).status == "failed")
    message = limited.state(run_id).message
    assert re.match(r"This run needs about 0\.\d GB of memory, and 0\.\d GB are free", message), message


def test_a_library_that_gets_no_memory_is_a_sentence_too() -> None:
    def failing(message: str) -> Iterator[Event]:
        raise RuntimeError(message)
        yield

    no_memory = "[enforce fail at alloc_cpu.cpp:118] DefaultCPUAllocator: can't allocate memory"
    with pytest.raises(InputError, match=r"^This run needs more than 8 GB of memory, which is what this page gives"):
        list(_explained(failing(no_memory), 8_000_000_000))
    with pytest.raises(RuntimeError, match="a mistake"):
        list(_explained(failing("a mistake"), 8_000_000_000))


@pytest.fixture
def files(tmp_path: Path) -> Files:
    little_folder(tmp_path / "little")
    return Files(tmp_path)


def test_a_fine_tuning_leaves_a_model_and_results(runs: Runs, files: Files) -> None:
    train, held = Path(files.train("tokens")), Path(files.held("tokens"))
    run = runs.start(files.config("tokens"), (train,), (held,))
    train.unlink()
    held.unlink()
    wait_for(lambda: runs.state(run).status == "finished")
    assert load_checkpoint(runs.state(run).model).architecture == "BertForTokenClassification"
    assert read_results(runs.folder(run)).train_count == 16


def test_files_are_replaced_by_copies_and_samples_are_not(tmp_path: Path) -> None:
    text = tmp_path / "a.csv"
    text.write_text("x")
    for number, config in enumerate(
        [
            FinetuneConfig(train=("sample:topics", "dataset:x", str(text))),
            PretrainConfig(corpus=("dataset:x", str(text))),
        ]
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        copied = with_copies(config, folder, (text,), ())
        names = copied.train if isinstance(copied, FinetuneConfig) else copied.corpus
        assert names[-2:] == ("dataset:x", str(folder / "texts" / "a.csv"))
        assert with_copies(config, folder, (), ()) == config
    (tmp_path / "2").mkdir()
    tested = with_copies(FinetuneConfig(train=("sample:topics",), test=("sample:x", str(text))), tmp_path / "2", (), ())
    assert tested.test == ("sample:x", str(tmp_path / "2" / "tested" / "a.csv"))
