"""The folder of runs, the processes that work in it, and the line of those that wait for their turn.

A run is a subprocess with a folder. Nobody holds a handle to it: who it is, whether it lives and what it does is
read from the folder, so any page may watch. When the server goes, its runs save a checkpoint and stop; after a
restart they can go on. A machine trains only so many at a time, since more would only slow each other down: the
others wait, also across a restart, and begin in the order in which they came.
"""

import contextlib
import fcntl
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import psutil

from bertviz_lab.config import FinetuneConfig, PretrainConfig, RunConfig
from bertviz_lab.errors import InputError
from bertviz_lab.jobs.run_names import new_run_id
from bertviz_lab.training.runs.run_folder import (
    ACTIVE,
    RunState,
    read_config,
    read_log,
    read_state,
    write_json,
    write_state,
)

_RUN_ID = re.compile(r"[A-Za-z0-9][\w.-]{0,80}")
_START_SECONDS = 60.0  # a process that has not reported by then never will
_LOOK_SECONDS = 1.0  # between two looks at whether somebody's turn has come


@dataclass(frozen=True)
class Runs:
    """All runs under one folder."""

    root: Path
    most_running: int = max(1, (os.cpu_count() or 1) // 2)  # trainings at a time
    cached: bool = True  # prepared texts are kept for the next run; not where they are strangers'
    nice: int = 5  # so that the page stays quick while the machine trains
    _attending: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

    def start(self, config: RunConfig, texts: tuple[Path, ...] = (), scored: tuple[Path, ...] = ()) -> str:
        """Begin a run in a process of its own, or put it in line, and return its id at once.

        `texts` are copied into the run's folder and trained on beside the samples that `config` names, so that the
        run can be repeated when the originals are gone; `scored` likewise, for a fine-tuning to be scored on.
        Raises `InputError` when the disk is full.
        """
        run_id = new_run_id()
        folder = self.root / run_id
        try:
            folder.mkdir(parents=True)
            config = _with_copies(config, folder, texts, scored)
            write_state(folder, RunState("waiting"))
            write_json(folder / "config.json", config.to_dict())  # last: this makes it a run
            self.start_queue()
        except OSError as error:
            shutil.rmtree(folder, ignore_errors=True)
            raise InputError(f"The run could not be started: {error.strerror or error}.") from error
        return run_id

    def resume(self, run_id: str) -> None:
        """Go on with a run that was stopped, failed or was killed, as soon as it is its turn.

        Does nothing if it is under way. Raises `InputError` when it is finished or unknown.
        """
        folder = self.folder(run_id)
        state = self.state(run_id)
        if state.status in ACTIVE:
            return
        if state.status == "finished":
            raise InputError("This run is finished; start a new one to train longer.")
        read_config(folder)
        write_state(folder, replace(state, status="waiting", message="", pid=0))
        self.start_queue()

    def stop(self, run_id: str) -> None:
        """Ask a run to save a checkpoint and end, or take it out of the line; returns at once.

        Does nothing if it has ended.
        """
        folder = self.folder(run_id)
        with self._alone():  # else it could be launched meanwhile
            state = read_state(folder)
            if state.status == "waiting":
                write_state(folder, replace(state, status="stopped"))
                return
        state = self.state(run_id)
        process = _process(state.pid, folder)
        if state.status in ACTIVE and process is not None:
            process.send_signal(signal.SIGTERM)

    def folder(self, run_id: str) -> Path:
        """Where a run lives. Raises `InputError` for a name that is none, or leads elsewhere."""
        folder = self.root / run_id
        if not _RUN_ID.fullmatch(run_id) or not (folder / "config.json").is_file():
            raise InputError(f"There is no run {run_id[:80]!r}.")
        return folder

    def config(self, run_id: str) -> RunConfig:
        """What a run was asked to do. Raises `InputError` for one that is unknown."""
        return read_config(self.folder(run_id))

    def state(self, run_id: str) -> RunState:
        """Where a run stands; one whose process has died without a word is told apart from one that works."""
        folder = self.folder(run_id)
        state = read_state(folder)
        if state.status == "waiting":
            return replace(state, message=self._place(run_id))
        begins = state.pid == 0 and time.time() - state.updated < _START_SECONDS
        if state.status in ACTIVE and not begins and _process(state.pid, folder) is None:
            message = "The training process ended without a word; resume to go on from the last checkpoint."
            return replace(state, status="failed", message=message, eta_seconds=None)
        return state

    def events(self, run_id: str, start: int = 0) -> tuple[list[dict[str, Any]], int]:
        """The run's events after the first `start` bytes of its log, and where to read on."""
        return read_log(self.folder(run_id), start)

    def ids(self) -> tuple[str, ...]:
        """All runs, the newest first."""
        if not self.root.is_dir():
            return ()
        found = [p for p in self.root.iterdir() if (p / "config.json").is_file() and _RUN_ID.fullmatch(p.name)]
        return tuple(p.name for p in sorted(found, key=lambda p: -(p / "config.json").stat().st_mtime))

    def start_queue(self) -> None:
        """Launch those whose turn it is, and go on looking until nobody waits; a server does this when it starts."""
        if self._launch_next():
            threading.Thread(target=self._go_on_looking, daemon=True).start()

    def _go_on_looking(self) -> None:
        with self._attending:  # one thread looks; those that come after it find nobody waiting, or take its place
            waiting = 1
            while waiting:
                time.sleep(_LOOK_SECONDS)
                with contextlib.suppress(OSError):  # a disk that is full may have room again at the next look
                    waiting = self._launch_next()

    def _launch_next(self) -> int:
        """Launch as many as there is room for, the first in line first; how many still wait."""
        if not self.root.is_dir():
            return 0
        with self._alone():
            line = self._line()
            running = sum(self._is_running(run_id) for run_id in self.ids()) if line else 0
            room = max(0, self.most_running - running)
            for run_id in line[:room]:
                self._launch(self.folder(run_id))
        return len(line[room:])

    def _line(self) -> list[str]:
        """Those that wait, the first in line first."""
        states = {run_id: state for run_id in self.ids() if (state := self._read(run_id)).status == "waiting"}
        return sorted(states, key=lambda run_id: states[run_id].updated)

    def _place(self, run_id: str) -> str:
        line = self._line()
        before = line.index(run_id) if run_id in line else 0
        others = {0: "It is next in line.", 1: "One other is before it in line."}
        return others.get(before, f"{before} others are before it in line.")

    def _is_running(self, run_id: str) -> bool:
        try:
            return self.state(run_id).status in ACTIVE and self._read(run_id).status != "waiting"
        except InputError:
            return False

    def _read(self, run_id: str) -> RunState:
        try:
            return read_state(self.root / run_id)
        except InputError:
            return RunState("failed")

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """One thread of one server at a time decides who is launched."""
        handle = os.open(self.root, os.O_RDONLY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)

    def _launch(self, folder: Path) -> None:
        """Write "starting" first, so that there is never a process without a state."""
        write_state(folder, replace(read_state(folder), status="starting", message="", pid=0))
        command = [sys.executable, "-m", "bertviz_lab.jobs.worker", str(folder), str(os.getpid()), str(self.nice)]
        environment = os.environ | {"PYTHONPATH": _package_parent()}
        if not self.cached:
            environment["BERTVIZ_LAB_CACHE"] = "none"
        with (folder / "worker.log").open("ab") as log:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment, start_new_session=True
            )
        # Nobody asks for the exit code, but a child that is not waited for stays in the process table.
        threading.Thread(target=process.wait, daemon=True).start()


def _process(pid: int, folder: Path) -> psutil.Process | None:
    """The live worker of a run: the number alone could belong to another process by now."""
    try:
        process = psutil.Process(pid) if pid > 0 else None
        if process and process.status() != psutil.STATUS_ZOMBIE and folder.name in " ".join(process.cmdline()):
            return process
    except psutil.Error:
        pass
    return None


def _with_copies(
    config: RunConfig, folder: Path, texts: tuple[Path, ...], scored: tuple[Path, ...]
) -> PretrainConfig | FinetuneConfig:
    """The settings with copies of the files in the run's folder in place of the files."""
    copies = _copy_in(texts, folder / "texts")
    if isinstance(config, PretrainConfig):
        return replace(config, corpus=(*_named(config.corpus), *copies) if copies else config.corpus)
    train = (*_named(config.train), *copies) if copies else config.train
    return replace(config, train=train, eval=_copy_in(scored, folder / "scored") or config.eval)


def _named(entries: tuple[str, ...]) -> tuple[str, ...]:
    """Those that are no files."""
    return tuple(name for name in entries if name.startswith(("sample:", "dataset:")))


def _copy_in(texts: tuple[Path, ...], folder: Path) -> tuple[str, ...]:
    """Copy texts under their own names, numbered so that two of the same name stay two."""
    copies: list[str] = []
    if not texts:
        return ()
    folder.mkdir()
    for number, text in enumerate(texts, 1):
        name = re.sub(r"[^\w.-]+", "_", text.name)[-80:].lstrip(".") or "text.txt"
        copies.append(str(shutil.copyfile(text, folder / f"{number:02d}-{name}")))
    return tuple(copies)


def _package_parent() -> str:
    parts = [str(Path(__file__).resolve().parents[2]), os.environ.get("PYTHONPATH", "")]
    return os.pathsep.join(part for part in parts if part)
