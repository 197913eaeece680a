"""The process of one run, from both sides: `python -m bertviz_lab.jobs.worker FOLDER PARENT NICE MEMORY SECONDS`.

It reports through FOLDER. Whether it lives can be seen from this machine, or from another that shares the disk.
"""

import math
import os
import platform
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import psutil

from bertviz_lab.config.limits import words_of
from bertviz_lab.confined.worker import is_out_of_memory, limit_memory
from bertviz_lab.errors import InputError
from bertviz_lab.training import run_training, stop_on_signals
from bertviz_lab.training.checkpoints.atomic_io import is_locked
from bertviz_lab.training.runs.events import Event
from bertviz_lab.training.runs.notifier import Notifier
from bertviz_lab.training.runs.run_folder import LOCK_FILE, RunState, read_config, read_state, record, write_state

#: Variables that the run of a visitor does not inherit.
_SECRET = re.compile("TOKEN|SECRET|PASSWORD|CREDENTIAL|KEY|AUTH", re.IGNORECASE)
_SILENT_SECONDS = 60.0  # between two reports of a process elsewhere, whose lock may not show here


def start_process(folder: Path, nice: int, memory_bytes: int, most_seconds: float, *, cached: bool) -> None:
    """Start the worker of a run. Raises `OSError`.

    `cached` keeps its prepared texts for the next run; the runs of strangers do not, and inherit no secrets.
    """
    command = [sys.executable, "-m", "bertviz_lab.jobs.worker", str(folder), str(os.getpid())]
    command += [str(nice), str(memory_bytes), str(most_seconds)]
    paths = [str(Path(__file__).resolve().parents[2]), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
    if not cached:
        environment = {name: value for name, value in environment.items() if not _SECRET.search(name)}
        environment["BERTVIZ_LAB_CACHE"] = "none"
    with (folder / "worker.log").open("ab") as log:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=environment,
            start_new_session=True,  # Ctrl-C in the server's terminal is the server's; on Windows by the flag
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
        )
    # Nobody asks for the exit code, but a child that is not waited for stays in the process table.
    threading.Thread(target=process.wait, daemon=True).start()


def is_alive(state: RunState, folder: Path) -> bool:
    """Return whether a run's process lives: one of this machine's, with the run's lock, or that has just reported.

    A disk that machines share shows the lock of one to the others, or has no locks; then there are its reports alone.
    """
    if _is_process(state.pid, folder) or ((folder / LOCK_FILE).exists() and is_locked(folder / LOCK_FILE)):
        return True
    return _is_elsewhere(state) and abs(time.time() - state.updated) < _SILENT_SECONDS  # clocks differ


def death_of(state: RunState) -> str:
    """Return what is known of a process that this machine sees as ended."""
    if not _is_elsewhere(state):
        return "The training process ended unexpectedly; resume to continue from the last checkpoint."
    minutes = max(1, round((time.time() - state.updated) / 60))
    return (
        f"The training process, on another machine, was last heard of {minutes:,} min ago; if it has ended, resume to "
        "continue from the last checkpoint."
    )


def _is_elsewhere(state: RunState) -> bool:
    return state.host not in ("", platform.node())


def _is_process(pid: int, folder: Path) -> bool:
    """Return whether a process of this machine is the worker of a run; the pid alone could be another's by now."""
    try:
        process = psutil.Process(pid) if pid > 0 else None
        return bool(process and process.status() != psutil.STATUS_ZOMBIE and folder.name in " ".join(process.cmdline()))
    except psutil.Error:
        return False


#: Its presence in the folder of a run asks the run to stop; unlike SIGTERM this works on Windows too.
STOP_FILE = "stop-requested"
_POLL_SECONDS = 0.2


def main(folder: Path, parent: int, nice: int, memory_bytes: int = 0, most_seconds: float = 0.0) -> int:
    """Train, or resume training, until done, asked to stop (`STOP_FILE`, SIGTERM), or orphaned by the server.

    `memory_bytes` limits what it may take beyond the libraries; after `most_seconds` it saves a checkpoint and stops,
    and 0 sets no limit. Returns the exit code: 0, or 2 for a text or settings
    that cannot be used.
    """
    _lower_priority(nice)
    stop = stop_on_signals()
    end = time.monotonic() + (most_seconds or math.inf)
    threading.Thread(target=_watch, args=(folder, parent, stop, end), daemon=True).start()
    write_state(folder, replace(read_state(folder), pid=os.getpid(), host=platform.node()))
    if memory_bytes:
        _limit_memory(folder, memory_bytes)
    resume = (folder / "events.jsonl").is_file()
    try:
        events = run_training(read_config(folder), folder, resume=resume, should_stop=stop.is_set)
        recorded = record(_explained(events, memory_bytes), folder)
        for _ in Notifier.of_environment().watch(recorded, folder, public=False):
            pass
    except InputError:
        return 2  # the message is in the run's state
    state = read_state(folder)
    if state.status == "stopped" and time.monotonic() >= end:
        reason = f"It was stopped after {words_of('seconds', most_seconds)}, the longest that a run of this page takes."
        write_state(folder, replace(state, message=reason))
    return 0


def _limit_memory(folder: Path, most: int) -> None:
    """Limit it by the kernel, but not with CUDA, which reserves terabytes of addresses, nor on macOS and Windows."""
    import torch  # first: a limit holds for what comes after

    if sys.platform == "linux" and not torch.cuda.is_available():
        limit_memory(most)
    else:
        threading.Thread(target=_watch_memory, args=(folder, most), daemon=True).start()


def _watch_memory(folder: Path, most: int) -> None:
    process = psutil.Process()
    while process.memory_info().rss <= most:
        time.sleep(_POLL_SECONDS)
    write_state(folder, replace(read_state(folder), status="failed", message=_too_much(most), eta_seconds=None))
    os._exit(2)


def _explained(events: Iterable[Event], memory_bytes: int) -> Iterator[Event]:
    """Yield the events; an error of memory becomes one sentence."""
    try:
        yield from events
    except Exception as error:
        if memory_bytes and is_out_of_memory(error):
            raise InputError(_too_much(memory_bytes)) from error
        raise


def _too_much(most: int) -> str:
    return (
        f"This run needs more than {words_of('bytes', most)} of memory, which is what this page gives to one: choose "
        "a smaller model, a smaller batch size or a part of the data."
    )


def _watch(folder: Path, parent: int, stop: threading.Event, end: float) -> None:
    """Set `stop` when it is requested, when the time is over, or when nobody is left who could request it."""
    while not stop.wait(_POLL_SECONDS):
        orphaned = os.getppid() != parent or not psutil.pid_exists(parent)
        if orphaned or (folder / STOP_FILE).exists() or time.monotonic() >= end:
            stop.set()


def _lower_priority(nice: int) -> None:
    if hasattr(os, "nice"):
        os.nice(nice)
    elif nice:
        psutil.Process().nice(psutil.BELOW_NORMAL_PRIORITY_CLASS)


if __name__ == "__main__":
    _, folder, parent, nice, memory, seconds = sys.argv
    sys.exit(main(Path(folder), int(parent), int(nice), int(memory), float(seconds)))
