"""Checkpoints: the last few and the best are kept, each whole or not there, each verified before a run goes on from it.

checkpoints/step-00001234/    a Hugging Face folder, beside it what the run needs to go on, and
    checksums.json            the size and SHA-256 of every file, the step, the score, and the version of this format
checkpoints/last/             the one checkpoint of runs from before, without checksums
checkpoints/.step-...         one that is being written or removed; what a kill leaves of it is swept away
"""

import contextlib
import hashlib
import json
import math
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open

from bertviz_lab.errors import InputError
from bertviz_lab.training.checkpoints.atomic_io import atomic_folder, disk_error, restore_interrupted

FORMAT = 1  # raise it when an older version of the lab could not go on from what is saved
_CHECKSUMS = "checksums.json"
_NAME = re.compile(r"step-(\d{8,})")
_OLD = "last"


@dataclass(frozen=True)
class SavedCheckpoint:
    """A checkpoint that was read back and found whole."""

    path: Path
    step: int
    damaged: tuple[str, ...]  # newer ones that were passed over, with the reason in a few words


class CheckpointManager:
    """The checkpoints of one run: the `keep` newest and, where scores are given, the one with the lowest."""

    def __init__(self, folder: Path, keep: int = 2) -> None:
        self.folder = folder
        self.keep = keep
        self._damaged: set[Path] = set()

    def save(self, step: int, write: Callable[[Path], None], score: float | None = None) -> Path:
        """Have `write` fill the folder of this step, then remove those that need not be kept.

        Raises `InputError` when the disk is full or cannot be written; what was there stays as it was.
        """
        self._sweep()
        path = self.folder / f"step-{step:08d}"
        try:
            with atomic_folder(path) as fresh:
                write(fresh)
                _write_checksums(fresh, step, score)
        except InputError:
            raise
        except Exception as error:
            reason = disk_error(error) or (isinstance(error, OSError) and error.strerror)
            if not reason:
                raise
            raise InputError(
                f"The checkpoint of step {step} could not be written: {reason}. {self._last_good()} "
                f"Make room for {self.folder}, then go on with --resume."
            ) from error
        self._damaged.discard(path)
        self._prune(step)
        return path

    def newest(self) -> SavedCheckpoint | None:
        """The newest checkpoint that is whole; None if none was ever saved.

        Raises `InputError` when all are damaged, or the newest was written by a newer version of the lab.
        """
        self._sweep()
        damaged: list[str] = []
        for step, path in reversed(_entries(self.folder)):
            reason = _damage(path)
            if not reason:
                return SavedCheckpoint(path, step, tuple(damaged))
            damaged.append(f"{path.name}: {reason}")
            self._damaged.add(path)
        if damaged:
            raise InputError(
                f"No checkpoint in {self.folder} is whole ({'; '.join(damaged)}); "
                "remove that folder to begin again from the first step."
            )
        return None

    def best(self) -> Path | None:
        """The whole checkpoint with the lowest score; None where none has a score."""
        for _, path in _by_score(_entries(self.folder)):
            if not _damage(path):
                return path
        return None

    def _prune(self, step: int) -> None:
        """Remove what the policy does not keep, what is damaged, and what is left of another, longer run."""
        entries = _entries(self.folder)
        good = [(s, path) for s, path in entries if s <= step and path not in self._damaged]
        kept = {path for _, path in (*good[-self.keep :], *_by_score(good)[:1])}
        for _, path in entries:
            if path not in kept:
                gone = path.with_name(f".{path.name}-gone")  # a kill halfway must not leave half of it under its name
                with contextlib.suppress(OSError):
                    shutil.rmtree(path.rename(gone))

    def _sweep(self) -> None:
        """Remove what kills have left; a checkpoint whose replacement was cut off gets its name back."""
        for left in self.folder.glob(".*-*"):
            if left.name.endswith("-old"):
                with contextlib.suppress(OSError):
                    restore_interrupted(left.with_name(left.name[1:-4]))
            if left.is_dir() and re.fullmatch(r"\.(step-\d+|last)-\w+", left.name):
                shutil.rmtree(left, ignore_errors=True)

    def _last_good(self) -> str:
        try:
            saved = self.newest()
        except InputError:
            saved = None
        return f"The last good one, of step {saved.step}, is {saved.path}." if saved else "There is none before it."


def latest_checkpoint(run_folder: Path) -> Path | None:
    """The newest checkpoint of a run by its name, without reading it; None before the first one."""
    entries = _entries(run_folder / "checkpoints")
    return entries[-1][1] if entries else None


def _entries(folder: Path) -> list[tuple[int, Path]]:
    """(step, path) of all checkpoints, the newest last; that of a run from before is the oldest."""
    if not folder.is_dir():
        return []
    named = [(int(found[1]), path) for path in folder.iterdir() if (found := _NAME.fullmatch(path.name))]
    last = folder / _OLD
    return [(_old_step(last), last)] * last.is_dir() + sorted(named)


def _by_score(entries: list[tuple[int, Path]]) -> list[tuple[int, Path]]:
    """Those that have a score, the lowest first, and of equals the newest."""
    scored = []
    for step, path in entries:
        with contextlib.suppress(InputError, ValueError, OSError):
            if (score := _read_checksums(path)["score"]) is not None:
                scored.append((score, -step, path))
    return [(-step, path) for _, step, path in sorted(scored)]


def _write_checksums(folder: Path, step: int, score: float | None) -> None:
    files = {
        path.relative_to(folder).as_posix(): {"bytes": path.stat().st_size, "sha256": _sha256(path)}
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
    score = score if score is not None and math.isfinite(score) else None
    body = {"format": FORMAT, "step": step, "score": score, "files": files}
    text = json.dumps(body | {"sha256": _own_sha256(body)}, indent=2)
    (folder / _CHECKSUMS).write_text(text, encoding="utf-8")


def _read_checksums(folder: Path) -> dict[str, Any]:
    """Raises `ValueError` where they are damaged, `InputError` where only a newer version knows what they mean."""
    try:
        body = json.loads((folder / _CHECKSUMS).read_bytes())
        damaged = body.pop("sha256") != _own_sha256(body)
    except (ValueError, AttributeError, KeyError, TypeError) as error:
        raise ValueError("not checksums") from error
    if damaged:
        raise ValueError("not the checksums that were written")
    if body["format"] > FORMAT:
        raise InputError(
            f"The checkpoint {folder} was written by a newer version of the lab (format {body['format']}, "
            f"this one knows {FORMAT}): update the lab to go on with this run."
        )
    return body


def _damage(folder: Path) -> str:
    """What is wrong with a checkpoint in a few words, "" if it is whole."""
    if folder.name == _OLD:
        return _old_damage(folder)
    try:
        files = _read_checksums(folder)["files"]
    except InputError:
        raise
    except FileNotFoundError:
        return f"{_CHECKSUMS} is missing"
    except (ValueError, OSError):
        return f"{_CHECKSUMS} is damaged"
    for name, expected in files.items():
        path = folder / name
        try:
            if not path.is_file():
                return f"{name} is missing"
            if path.stat().st_size != expected["bytes"]:
                return f"{name} has {path.stat().st_size} bytes, not {expected['bytes']}"
            if _sha256(path) != expected["sha256"]:
                return f"{name} is not what was written"
        except OSError as error:
            return f"{name} cannot be read ({error.strerror})"
    return ""


def _old_damage(folder: Path) -> str:
    """Without checksums: are the files there, and have the tensors the length that their headers tell?"""
    if _old_step(folder) < 0:
        return "trainer.json is damaged or missing"
    for name in ("model.safetensors", "optimizer.safetensors"):
        try:
            with safe_open(folder / name, "pt"):
                pass
        except (OSError, SafetensorError):
            return f"{name} is damaged or missing"
    return ""


def _old_step(folder: Path) -> int:
    try:
        return int(json.loads((folder / "trainer.json").read_bytes())["progress"]["step"])
    except (OSError, ValueError, TypeError, KeyError):
        return -1


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()  # reads in pieces, however large the file


def _own_sha256(body: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
