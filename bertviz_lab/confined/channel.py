"""How confined processes come into being: a new one, or on Linux the copy of one that has its imports done.

A new process imports for half a second; a copy (fork) begins within milliseconds. The process that is copied works on
nothing itself, so that no file of a visitor can do anything to the next one's worker.
"""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

CAN_COPY = sys.platform == "linux"
_MOST_THREADS = 4  # each takes address space for its stack and its heap
#: All that a worker inherits from the environment: no token, password or key.
_INHERITED = (
    *("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "TEMP", "TMP", "VIRTUAL_ENV", "PYTHONHOME"),
    *("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "SYSTEMROOT", "SYSTEMDRIVE", "WINDIR"),
)


@dataclass(frozen=True)
class Channel:
    """A process that does one piece of work: the request goes in, the answer comes out."""

    pid: int
    request: IO[bytes]  # to be closed when all is written
    answer: IO[bytes]
    wait: Callable[[], int]  # for its end; returns its exit status, below 0 for a signal
    end: Callable[[], None]  # kill it, if it still runs, and close the pipes


def start_worker() -> Channel:
    """Start a new process."""
    process = _start(["-m", "bertviz_lab.confined.worker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    pipes = (process.stdin, process.stdout)

    def end() -> None:
        _kill(process)
        _close(pipes)

    return Channel(process.pid, *pipes, process.wait, end)


class Template:
    """A process with its imports done, of which each piece of work gets a copy."""

    def __init__(self, preload: Sequence[str]) -> None:
        self._control, theirs = socket.socketpair()
        with theirs:
            descriptor = str(theirs.fileno())
            command = ["-m", "bertviz_lab.confined.template", descriptor, *preload]
            self._process = _start(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, keep=theirs.fileno())
        self._lock = threading.Lock()
        self.end = weakref.finalize(self, _end_template, self._process, self._control)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def copy(self) -> Channel:
        """Start a process to work in; wait while the template still imports. Raises `OSError` where it has died."""
        pipes = [os.pipe() for _ in range(3)]
        (request, request_to), (answer_from, answer), (status_from, status) = pipes
        ours = (os.fdopen(request_to, "wb"), os.fdopen(answer_from, "rb"), os.fdopen(status_from, "rb"))
        try:
            with self._lock:
                socket.send_fds(self._control, [b"."], [request, answer, status])
        except OSError:
            _close(ours)
            raise
        finally:
            for descriptor in (request, answer, status):
                os.close(descriptor)
        first = ours[2].readline()
        if not first:
            _close(ours)
            raise ChildProcessError("The process that is copied has ended.")
        pid, ended = int(first), threading.Event()

        def wait() -> int:
            line = ours[2].readline()
            ended.set()
            return int(line or -signal.SIGKILL)

        def end() -> None:
            if not ended.is_set():
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
                wait()
            _close(ours)

        return Channel(pid, ours[0], ours[1], wait, end)


def _start(command: list[str], stdin: int, stdout: int, keep: int | None = None) -> "subprocess.Popen[bytes]":
    threads = str(min(_MOST_THREADS, os.cpu_count() or 1))
    package_parent = str(Path(__file__).resolve().parents[2])
    environment = {name: os.environ[name] for name in _INHERITED if name in os.environ} | {
        "PYTHONPATH": os.pathsep.join(filter(None, [package_parent, os.environ.get("PYTHONPATH", "")])),
        "HF_HUB_OFFLINE": "1",
        # Address space is what is limited: few threads, and an allocator that reserves no gigabyte ahead.
        "OMP_NUM_THREADS": threads,
        "RAYON_NUM_THREADS": threads,
        "OPENBLAS_NUM_THREADS": "1",  # none before a process is copied
        "MALLOC_ARENA_MAX": "2",
        "ARROW_DEFAULT_MEMORY_POOL": "system",
    }
    return subprocess.Popen(
        [sys.executable, "-P", *command],
        stdin=stdin,
        stdout=stdout,
        stderr=subprocess.DEVNULL,  # it may quote the file
        env=environment,
        pass_fds=() if keep is None else (keep,),
        start_new_session=True,  # Ctrl-C in the server's terminal is the server's
    )


def _end_template(process: "subprocess.Popen[bytes]", control: socket.socket) -> None:
    control.close()
    _kill(process)


def _kill(process: "subprocess.Popen[bytes]") -> None:
    with contextlib.suppress(OSError):
        process.kill()
    process.wait()


def _close(pipes: Sequence[IO[bytes]]) -> None:
    for pipe in pipes:
        with contextlib.suppress(OSError):
            pipe.close()
