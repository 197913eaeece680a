"""Starting the process of a run."""

import os
import subprocess
import sys
import threading
from pathlib import Path


def start_process(folder: Path, nice: int, memory_bytes: int, most_seconds: float, *, cached: bool) -> None:
    """Start the worker of a run; `cached` keeps its prepared texts for the next run. Raises `OSError`."""
    command = [sys.executable, "-m", "bertviz_lab.jobs.worker", str(folder), str(os.getpid())]
    command += [str(nice), str(memory_bytes), str(most_seconds)]
    environment = os.environ | {"PYTHONPATH": _package_parent()}
    if not cached:
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


def _package_parent() -> str:
    parts = [str(Path(__file__).resolve().parents[2]), os.environ.get("PYTHONPATH", "")]
    return os.pathsep.join(part for part in parts if part)
