"""Snapshots of training runs and of shipped models: which there are, opened models, and what they make of a text."""

import contextlib
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bertviz_lab.errors import InputError
from bertviz_lab.figures.payload import Payload
from bertviz_lab.figures.training.dynamics import curve_body, frame_payload, plane_body
from bertviz_lab.training.runs.run_folder import ACTIVE, SHIPPED_LOG, read_log
from bertviz_lab.ui.lazy import interpret
from bertviz_lab.ui.server.visitors import Visitor
from bertviz_lab.ui.state.lru_cache import LruCache
from bertviz_lab.ui.state.models import Models, bytes_of

if TYPE_CHECKING:  # torch takes seconds to import and the first page should not wait for it
    from bertviz_lab.training.runs.snapshot_reader import SnapshotReader

#: Without a run under way the view begins with this one.
FIRST = "tiny-town"

_KEPT_FRAMES = 80_000_000  # bytes of frames of all visitors
_KEPT_OPEN = 200_000_000  # bytes of opened snapshots
_KEPT_READERS, _KEPT_LOGS = 16, 8
#: What the loss curve needs of an event.
_CURVE_FIELDS = (
    *("event", "step", "mlm_loss", "rtd_loss", "loss", "causal_loss"),
    *("seconds", "tokens", "objective", "baselines"),
)


@dataclass(frozen=True)
class TrackedText:
    """What every snapshot of a training run is asked: texts, and the ids of the tokens that are tracked in them."""

    run: str
    text_a: str
    text_b: str
    watched: tuple[int, ...] = ()  # tokens whose probability is followed
    mapped: tuple[int, ...] = ()  # tokens on the embedding map


class SnapshotStore:
    """Lists, opens and keeps snapshots, by the name of their run or shipped model; safe to use from many threads."""

    def __init__(self, models: Models) -> None:
        self._models, self._runs = models, models.runs
        self._readers = LruCache(_KEPT_READERS)
        self._open = LruCache(_KEPT_OPEN, weigh=bytes_of)
        self._frames = LruCache(_KEPT_FRAMES, weigh=len)
        self._logs = LruCache(_KEPT_LOGS)

    def choices(self, visitor: Visitor) -> list[tuple[str, str]]:
        """Return (name, label) of the visitor's runs with snapshots, the newest first, then of shipped models."""
        choices = [choice for choice in self._models.choices(visitor) if self.has_snapshots(choice[0])]
        shipped = [choice for choice in choices if not self._models.is_run(choice[0])]
        shipped.sort(key=lambda choice: choice[0] != FIRST)
        return [choice for choice in choices if choice not in shipped] + shipped

    def has_snapshots(self, name: str) -> bool:
        """Return whether a name is that of a run, or shipped model, with snapshots."""
        with contextlib.suppress(InputError):
            return any((self.folder(name) / "snapshots").glob("step-*.safetensors"))
        return False

    def default(self, visitor: Visitor) -> str:
        """Return the run under way, else the first that ships, else the newest run; "" where there is none at all."""
        names = [name for name, _ in self.choices(visitor)]
        names.sort(key=lambda name: 0 if self.is_live(name) else 2 if self._models.is_run(name) else 1)
        return next(iter(names), "")

    def is_live(self, name: str) -> bool:
        with contextlib.suppress(InputError):
            return self._models.is_run(name) and self._runs.state(name).status in ACTIVE
        return False

    def folder(self, name: str) -> Path:
        """Return the folder of a run or shipped model, never one that somebody typed. Raises `InputError`."""
        folder = self._models.known_folder(name)
        if folder is None:
            raise InputError("This run is no longer here; choose another one.")
        return folder

    def reader(self, name: str) -> "SnapshotReader":
        """Return the snapshots of a run. Raises `InputError` where it has none, or is not there."""
        from bertviz_lab.training.runs.snapshot_reader import open_snapshots

        folder = self.folder(name)
        short = self._models.runs.name(name) if self._models.is_run(name) else name
        files = [folder / "snapshots" / "config.json", folder / "config.json"]
        changed = tuple(path.stat().st_mtime_ns for path in files if path.is_file())
        return self._readers.get((folder, changed), lambda: open_snapshots(folder, short))

    def open(self, name: str, step: int) -> Any:
        """Return a checkpoint, opened once while it is among the last few. Raises `InputError` where it is gone."""
        reader = self.reader(name)
        limits = self._models.settings.limits.question
        key = (*self._version(reader.folder, step), step)
        return self._open.get(key, lambda: replace(reader.open(step), limits=limits))

    def frame(self, tracked: TrackedText, step: int) -> Payload:
        """Return the predictions of a step's snapshot for a text, computed once. Raises `InputError`."""

        def make() -> Payload:
            checkpoint = self.open(tracked.run, step)
            analysis = interpret.analyze_snapshot(
                checkpoint, tracked.text_a, tracked.text_b or None, tracked=tracked.watched, projected=tracked.mapped
            )
            return frame_payload(analysis, step)

        key = (tracked, step, *self._version(self.folder(tracked.run), step))
        return self._frames.get(key, make)

    def plane(self, tracked: TrackedText, step: int) -> dict[str, Any]:
        from bertviz_lab.interpret.corpora.training_dynamics import word_embeddings

        vectors = word_embeddings(self.open(tracked.run, step), tracked.mapped)
        return plane_body(vectors, interpret.embedding_plane(vectors))

    def curve(self, name: str) -> dict[str, Any]:
        """Return the loss over a run; of a log that grows only what is new is read."""
        if not self._models.is_run(name):
            return curve_body(read_log(self.folder(name), name=SHIPPED_LOG)[0])
        return self._logs.get(name, _RunLog).curve(lambda start: self._runs.events(name, start))

    def _version(self, folder: Path, step: int) -> tuple[Path, int]:
        """Return a value that changes when the file of a snapshot does: a run that is restarted writes other ones."""
        path = folder / "snapshots" / f"step-{step:08d}.safetensors"
        with contextlib.suppress(OSError):
            return path, path.stat().st_mtime_ns
        return path, 0  # gone by now, or the model itself that ships


class _RunLog:
    """The loss curve of a run, and the part of its log that is in it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rows: list[dict[str, Any]] = []
        self._end = 0  # in bytes
        self._curve = curve_body(())

    def curve(self, read: Callable[[int], tuple[list[dict[str, Any]], int]]) -> dict[str, Any]:
        """Return the curve with what `read(start)` gives: the events after so many bytes, and where they end."""
        with self._lock:
            rows, self._end = read(self._end)
            if rows:
                self._rows += [{name: row[name] for name in _CURVE_FIELDS if name in row} for row in rows]
                self._curve = curve_body(self._rows)
            return self._curve
