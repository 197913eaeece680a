"""The process of a run: starting it, and whether it lives, on this machine or on another that shares the disk."""

import os
import platform
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil

from bertviz_lab.training.checkpoints.atomic_io import is_locked
from bertviz_lab.training.runs.run_folder import LOCK_FILE, RunState

#: Variables that the run of a visitor does not inherit.
_SECRET = re.compile("TOKEN|SECRET|PASSWORD|CREDENTIAL|KEY|AUTH", re.IGNORECASE)
_SILENT_SECONDS = 60.0  # between two reports of a process elsewhere, whose lock may not show here


def start_process(folder: Path, nice: int, memory_bytes: int, most_seconds: float, *, cached: bool) -> None:
    """Start the worker of a run. Raises `OSError`.

    `cached` keeps its prepared texts for the next run; the runs of strangers do not, and inherit no secrets.
    """
    command = [sys.executable, "-m", "bertviz_lab.jobs.worker", str(folder), str(os.getpid())]
    command += [str(nice), str(memory_bytes), str(most_seconds)]
    environment = os.environ | {"PYTHONPATH": _package_parent()}
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


def _package_parent() -> str:
    parts = [str(Path(__file__).resolve().parents[2]), os.environ.get("PYTHONPATH", "")]
    return os.pathsep.join(part for part in parts if part)
