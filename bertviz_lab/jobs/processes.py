"""The processes of runs, from the side of the server: one can wait with its imports done, so that a run begins soon."""

import contextlib
import os
import re
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path

WORKER = "bertviz_lab.jobs.worker"
#: Variables that the run of a visitor does not inherit.
_SECRET = re.compile("TOKEN|SECRET|PASSWORD|CREDENTIAL|KEY|AUTH", re.IGNORECASE)
_WAITING_SECONDS = 600.0  # that a process waits for a run: it takes a quarter of a gigabyte


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

    def close(self) -> None:
        """End the process that waits, if one does."""
        self._dismiss(self._waiting)

    def _dismiss(self, process: "subprocess.Popen[bytes] | None") -> None:
        with self._lock, contextlib.suppress(OSError):  # it has ended
            if process and self._waiting is process:
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
