"""Models as web pages: each is written by a process of its own, and kept while the model stays as it is."""

import atexit
import hashlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Literal

from bertviz_lab.errors import InputError
from bertviz_lab.ui.state.models import Models

#: One HTML file, a zip of a folder for a web server, or that folder.
PageForm = Literal["html", "zip", "folder"]
_KEPT = 4  # pages, each of up to a hundred megabytes
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

    def file(self, name: str) -> Path | None:
        """Return a file that was written, by its name; None for any other."""
        path = self._folder / name
        return path if path.parent == self._folder and path.is_file() else None

    def write(self, model: str, form: PageForm, snapshots: int, on_progress: Callable[[float], None]) -> Path:
        """Publish a model, as one HTML file, a zip or a folder, and return where that is.

        `snapshots` is how many of its run its training dynamics are recorded of. `on_progress` may raise an exception
        to end. Raises `InputError` for a model that is not there, and with what went wrong.
        """
        folder, name = self._models.locate(model)
        version = hashlib.sha256(f"{self._models.version(model)} {snapshots}".encode()).hexdigest()[:16]
        page = self._folder / (f"{version}.html" if form == "html" else version)
        with self._turn:
            if not page.exists():
                self._make_room()
                command = [sys.executable, "-m", "bertviz_lab", "publish", "--model", str(folder), "--name", name]
                self._run([*command, "--out", str(page), "--snapshots", str(snapshots)], on_progress)
            if form == "zip":
                page = Path(shutil.make_archive(str(page), "zip", page))
        return page

    def _make_room(self) -> None:
        pages = sorted(self._folder.iterdir(), key=lambda path: path.stat().st_mtime)
        for old in pages[: max(0, len(pages) - _KEPT + 1)]:
            shutil.rmtree(old) if old.is_dir() else old.unlink()

    def _run(self, command: Sequence[str], on_progress: Callable[[float], None]) -> None:
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
