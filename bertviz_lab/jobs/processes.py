"""The processes of runs, from the side of the server: how they start, and whether they live.

One can wait with its imports done, so that a run begins soon. Whether one lives can be seen from this machine, or from
another that shares the disk.
"""

import contextlib
import os
import platform
import re
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from bertviz_lab.training.checkpoints.atomic_io import is_locked
from bertviz_lab.training.runs.run_folder import LOCK_FILE, RunState

WORKER = "bertviz_lab.jobs.worker"
#: Its presence in the folder of a run asks the run to stop; unlike SIGTERM this works on Windows too.
STOP_FILE = "stop-requested"
#: Variables that the run of a visitor does not inherit.
_SECRET = re.compile("TOKEN|SECRET|PASSWORD|CREDENTIAL|KEY|AUTH", re.IGNORECASE)
_WAITING_SECONDS = 600.0  # that a process waits for a run: it takes a third of a gigabyte
_SILENT_SECONDS = 60.0  # between two reports of a process elsewhere, whose lock may not show here


@dataclass
class WorkerProcesses:
    """Starts a process for each run: `bertviz_lab.jobs.worker`."""

    cached: bool = True  # keep prepared texts for the next run; those of strangers are not, and inherit no secrets
    memory_bytes: int = 0  # that the process of one run may take; 0 sets no limit
    most_seconds: float = 0.0  # that the process of one run may live; 0 sets no limit
    nice: int = 5  # so that the page stays responsive while the machine trains
    _waiting: "subprocess.Popen[bytes] | None" = field(default=None, init=False, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)

    def warm_up(self) -> None:
        """Start the process of the next run, unless one waits. Raises `OSError`."""
        with self._lock:
            if self._waiting is None or self._waiting.poll() is not None:
                self._waiting = self._new()
                dismissal = threading.Timer(_WAITING_SECONDS, self._dismiss, [self._waiting])
                dismissal.daemon = True
                dismissal.start()

    def start(self, folder: Path) -> None:
        """Begin the run of a folder. Raises `OSError`."""
        with self._lock:
            waiting, self._waiting = self._waiting, None
        with contextlib.suppress(OSError):  # it has ended
            if waiting:
                _hand_over(folder, waiting)
                return
        _hand_over(folder, self._new())

    def _dismiss(self, process: "subprocess.Popen[bytes]") -> None:
        with self._lock, contextlib.suppress(OSError):  # it has ended
            if self._waiting is process:
                self._waiting = None
                _hand_over(None, process)

    def _new(self) -> "subprocess.Popen[bytes]":
        limits = map(str, (os.getpid(), self.nice, self.memory_bytes, self.most_seconds))
        paths = [str(Path(__file__).resolve().parents[2]), os.environ.get("PYTHONPATH", "")]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
        if not self.cached:
            environment = {name: value for name, value in environment.items() if not _SECRET.search(name)}
            environment["BERTVIZ_LAB_CACHE"] = "none"
        process = subprocess.Popen(
            [sys.executable, "-m", WORKER, *limits],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            env=environment,
            start_new_session=True,  # Ctrl-C in the server's terminal is the server's; on Windows by the flag
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
        )
        # Nobody asks for the exit code, but a child that is not waited for stays in the process table.
        threading.Thread(target=process.wait, daemon=True).start()
        return process


def _hand_over(folder: Path | None, process: "subprocess.Popen[bytes]") -> None:
    """Give a process its run; without any it ends. Raises `OSError` where it has ended already."""
    assert process.stdin is not None
    with process.stdin as stream:
        stream.write(os.fsencode(folder.absolute()) if folder else b"")


def is_alive(state: RunState, folder: Path) -> bool:
    """Return whether a run's process lives: one of this machine's, with the run's lock, or that has just reported.

    A disk that machines share shows the lock of one to the others, or has no locks; then there are its reports alone.
    """
    if is_worker(state) or ((folder / LOCK_FILE).exists() and is_locked(folder / LOCK_FILE)):
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


def is_worker(state: RunState) -> bool:
    """Return whether the process that reported is still there; its id alone could be a later one's by now."""
    try:
        process = psutil.Process(state.pid) if state.pid > 0 else None
        # The clock may tick between the start of a process and its first report.
        return bool(
            process
            and process.status() != psutil.STATUS_ZOMBIE
            and WORKER in process.cmdline()
            and process.create_time() < state.updated + 1
        )
    except psutil.Error:
        return False
