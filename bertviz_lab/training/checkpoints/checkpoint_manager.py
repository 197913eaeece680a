"""Checkpoint rotation: the newest few and the best are kept, each written atomically and verified before it is used.

checkpoints/step-00001234/    a Hugging Face folder with what a run needs to resume, and
    checksums.json            size and SHA-256 of every file, the step, the score, the version of this format
checkpoints/.step-...         a checkpoint that is being written or removed; cleaned up if the process is killed
"""

import contextlib
import hashlib
import json
import math
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bertviz_lab import strict_json
from bertviz_lab.errors import InputError
from bertviz_lab.training.checkpoints.atomic_io import atomic_folder, clean_up, list_steps

FORMAT = 1  # raise it when older versions of the lab could not resume from what is saved
_CHECKSUMS = "checksums.json"


@dataclass(frozen=True)
class SavedCheckpoint:
    """A checkpoint that has been verified."""

    path: Path
    step: int
    damaged: tuple[str, ...]  # newer checkpoints that failed verification, with the reason


class CheckpointManager:
    """The checkpoints of one run: the `keep` newest and, where scores are given, the one with the lowest."""

    def __init__(self, folder: Path, keep: int = 2) -> None:
        self.folder = folder
        self.keep = keep
        self._damaged: set[Path] = set()

    def path_of(self, step: int) -> Path:
        return self.folder / f"step-{step:08d}"

    def save(self, step: int, write: Callable[[Path], None], score: float | None = None) -> None:
        """Have `write` fill the folder of this step, then remove checkpoints that need not be kept.

        Where that fails, earlier checkpoints are untouched.
        """
        clean_up(self.folder, "step-*")
        path = self.path_of(step)
        with atomic_folder(path) as fresh:
            write(fresh)
            _write_checksums(fresh, step, score)
        self._damaged.discard(path)
        self._rotate(step)

    def newest(self) -> SavedCheckpoint | None:
        """Return the newest intact checkpoint; None if none was ever saved.

        Raises `InputError` when all are damaged, or the newest was written by a newer version of the lab.
        """
        clean_up(self.folder, "step-*")
        damaged: list[str] = []
        for step, path in reversed(list_steps(self.folder)):
            reason = _verify(path)
            if not reason:
                return SavedCheckpoint(path, step, tuple(damaged))
            damaged.append(f"{path.name}: {reason}")
            self._damaged.add(path)
        if damaged:
            reasons = f"No checkpoint in {self.folder} is intact ({'; '.join(damaged)})"
            raise InputError(f"{reasons}; remove that folder to start again from the first step.")
        return None

    def _rotate(self, step: int) -> None:
        """Remove checkpoints beyond the policy, damaged ones, and those of a later step (from an abandoned run)."""
        checkpoints = list_steps(self.folder)
        intact = [(s, path) for s, path in checkpoints if s <= step and path not in self._damaged]
        kept = {path for _, path in intact[-self.keep :]} | _best(intact)
        for _, path in checkpoints:
            if path not in kept:
                hidden = path.with_name(f".{path.name}-gone")  # a kill halfway leaves no half checkpoint by this name
                with contextlib.suppress(OSError):
                    shutil.rmtree(path.rename(hidden))


def latest_checkpoint(run_folder: Path) -> Path | None:
    """Return the checkpoint of a run with the highest step, not verified; None before the first one."""
    checkpoints = list_steps(run_folder / "checkpoints")
    return checkpoints[-1][1] if checkpoints else None


def _best(checkpoints: list[tuple[int, Path]]) -> set[Path]:
    """Return the checkpoint with the lowest score, among equals the newest; none where none has a score."""
    scored = []
    for step, path in checkpoints:
        with contextlib.suppress(InputError, ValueError, OSError):
            if (score := _read_checksums(path)["score"]) is not None:
                scored.append((score, -step, path))
    return {min(scored)[-1]} if scored else set()


def _write_checksums(folder: Path, step: int, score: float | None) -> None:
    files = {
        path.relative_to(folder).as_posix(): {"bytes": path.stat().st_size, "sha256": _sha256(path)}
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
    score = score if score is not None and math.isfinite(score) else None
    body = {"format": FORMAT, "step": step, "score": score, "files": files}
    text = strict_json.dumps(body | {"sha256": _sha256_of_json(body)}, indent=2)
    (folder / _CHECKSUMS).write_text(text, encoding="utf-8")


def _read_checksums(folder: Path) -> dict[str, Any]:
    """Raises `ValueError` where they are damaged, `InputError` where a newer version of the lab wrote them."""
    try:
        body = json.loads((folder / _CHECKSUMS).read_bytes())
        damaged = body.pop("sha256") != _sha256_of_json(body)
    except (ValueError, AttributeError, KeyError, TypeError) as error:
        raise ValueError("not checksums") from error
    if damaged:
        raise ValueError("the checksums fail their own checksum")
    if body["format"] > FORMAT:
        newer = f"a newer version of the lab (format {body['format']}, this one knows {FORMAT})"
        raise InputError(f"The checkpoint {folder} was written by {newer}: update the lab to resume this run.")
    return body


def _verify(folder: Path) -> str:
    """Return what is wrong with a checkpoint in a few words, "" if it is intact."""
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
                return f"{name} fails its checksum"
        except OSError as error:
            return f"{name} cannot be read ({error.strerror})"
    return ""


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()  # reads in chunks, however large the file


def _sha256_of_json(body: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
