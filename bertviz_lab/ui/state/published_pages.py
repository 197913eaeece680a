"""Models as single-file pages: each is written by a process of its own, and kept while the model stays as it is."""

import atexit
import hashlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from functools import cached_property
from pathlib import Path

from bertviz_lab.errors import InputError
from bertviz_lab.ui.state.models import Models

_KEPT = 4  # files, each of up to a hundred megabytes
_POLL_SECONDS = 0.3
_EXPECTED_SECONDS = 60.0  # of an export: all that is known of its progress


class PublishedPages:
    """Pages of the models of a local page. A shared one publishes nothing: an export takes a core for a minute."""

    def __init__(self, models: Models) -> None:
        self._models = models
        self._turn = threading.Lock()

    @cached_property
    def _folder(self) -> Path:
        folder = Path(tempfile.mkdtemp(prefix="bertviz-lab-pages-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        return folder

    def file_of(self, model: str) -> Path:
        """Return where the page of a model is, once it is written. Raises `InputError` for one that is not there."""
        version = hashlib.sha256(self._models.version(model).encode()).hexdigest()[:16]
        return self._folder / f"{version}.html"

    def write(self, model: str, on_progress: Callable[[float], None]) -> None:
        """Publish a model; `on_progress` may raise an exception to end. Raises `InputError` with what went wrong."""
        file, (folder, name) = self.file_of(model), self._models.locate(model)
        with self._turn:
            if file.is_file():
                return
            pages = sorted(file.parent.glob("*.html"), key=lambda path: path.stat().st_mtime)
            for old in pages[: max(0, len(pages) - _KEPT + 1)]:
                old.unlink()
            command = [sys.executable, "-m", "bertviz_lab", "publish", "--model", str(folder)]
            command += ["--name", name, "--out", str(file)]
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            try:
                started = time.monotonic()
                while process.poll() is None:
                    on_progress(min(0.99, (time.monotonic() - started) / _EXPECTED_SECONDS))
                    time.sleep(_POLL_SECONDS)
            finally:
                process.kill()
                _, said = process.communicate()
        if process.returncode:
            *_, last = said.strip().splitlines() or [""]
            raise InputError(last.removeprefix("bertviz-lab: ") or "The page could not be written.")
