"""The page as a process of its own on a disk of its own, and what can befall it: a full disk, a kill, another time."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import httpx
import psutil

from bertviz_lab.jobs.processes import is_worker
from bertviz_lab.training.runs.run_folder import read_state

_START_SECONDS = 120.0


class Server:
    """A shared page in a process, its runs on a small file system where this user may mount one. Use in a `with`."""

    def __init__(self, *, faulty: bool, options: tuple[str, ...] = ()) -> None:
        self.home = Path(tempfile.mkdtemp(prefix="bertviz-load-"))
        self.runs, self.temporary = self.home / "runs", self.home / "tmp"
        self._clock = self.home / "clock"
        self._process: subprocess.Popen[bytes] | None = None
        self._options, self._mounted, self._shim = options, False, ""
        for folder in (self.runs, self.temporary):
            folder.mkdir()
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self._port = probe.getsockname()[1]
        if faulty:
            self._mounted = _succeeds(["mount", "-t", "tmpfs", "-o", "size=1500m", "tmpfs", str(self.runs)])
            self._shim = self._compile_clock()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._port}/"

    @property
    def faults(self) -> dict[str, bool]:
        """Which of the faults that need something of the machine can be made here."""
        return {"full disk": self._mounted, "clock set back": bool(self._shim)}

    def __enter__(self) -> "Server":
        return self

    def start(self) -> None:
        """Start, and wait until the page answers. Raises `RuntimeError` where it does not."""
        command = [sys.executable, "-m", "bertviz_lab", "app", "--shared", "--port", str(self._port)]
        command += ["--runs-dir", str(self.runs), "--max-runs", "1", *self._options]
        environment = os.environ | {"TMPDIR": str(self.temporary), "GRADIO_TEMP_DIR": str(self.temporary / "gradio")}
        if self._shim:
            environment |= {"LD_PRELOAD": self._shim, "CLOCK_OFFSET_FILE": str(self._clock)}
        with (self.home / "server.log").open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
        end = time.monotonic() + _START_SECONDS
        while time.monotonic() < end and self._process.poll() is None:
            with contextlib.suppress(httpx.HTTPError):
                if httpx.get(self.address, timeout=5).status_code == 200:
                    return
            time.sleep(0.2)
        raise RuntimeError(f"The server did not start: {self.log()[-2000:]}")

    def stop(self) -> None:
        """SIGTERM, as systemd sends it."""
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(30)
            self._process.kill()
            self._process.wait()

    def memory(self) -> int:
        """Resident bytes of the server, without the processes that train or read files."""
        return int(psutil.Process(self._process.pid).memory_info().rss) if self._process else 0

    def seconds_of_work(self) -> float:
        """Processor seconds of the server."""
        times = psutil.Process(self._process.pid).cpu_times() if self._process else None
        return times.user + times.system if times else 0.0

    def kill_worker(self) -> bool:
        """Kill the process of a run that trains; whether there was one."""
        for folder in self.runs.iterdir():
            with contextlib.suppress(Exception):
                state = read_state(folder)
                if state.status == "training" and is_worker(state):
                    os.kill(state.pid, signal.SIGKILL)
                    return True
        return False

    @contextlib.contextmanager
    def full_disk(self) -> Iterator[None]:
        """No byte is free where the runs lie."""
        ballast = self.runs / ".ballast"
        with contextlib.suppress(OSError), ballast.open("wb", buffering=0) as file:
            while True:
                _fill(file)
        try:
            yield
        finally:
            ballast.unlink(missing_ok=True)

    def set_clock(self, seconds: int) -> None:
        """The server's clock is so many seconds ahead of the machine's; of runs too that start afterwards."""
        self._clock.write_text(str(seconds), encoding="utf-8")

    def log(self) -> str:
        """What the server has written."""
        return (self.home / "server.log").read_text(encoding="utf-8", errors="replace")

    def tracebacks(self) -> int:
        """How many there are in what it has written."""
        return self.log().count("Traceback (most recent call last)")

    def files_left(self) -> dict[str, int]:
        """Files that nobody deleted: in the temporary folder, and among the runs."""
        temporary = sum(path.is_file() for path in self.temporary.rglob("*"))
        runs = sum(path.is_dir() and (path / "config.json").is_file() for path in self.runs.iterdir())
        return {"temporary files": temporary, "runs": runs}

    def __exit__(self, *_: object) -> None:
        """Stop, and leave nothing behind."""
        self.stop()
        if self._mounted:
            _succeeds(["umount", str(self.runs)])
        shutil.rmtree(self.home, ignore_errors=True)

    def _compile_clock(self) -> str:
        source, library = Path(__file__).with_name("clock.c"), self.home / "clock.so"
        self._clock.write_text("0", encoding="utf-8")
        command = ["cc", "-shared", "-fPIC", "-O2", "-o", str(library), str(source), "-ldl"]
        return str(library) if _succeeds(command) else ""


def _fill(file: IO[bytes]) -> None:
    """Write until there is no room; raises `OSError` then."""
    for size in (1 << 20, 1 << 12):
        try:
            while True:
                file.write(bytes(size))
        except OSError:
            if size == 1 << 12:
                raise


def _succeeds(command: list[str]) -> bool:
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False
