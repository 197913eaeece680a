"""A run's folder: what it was asked to do, where it stands, all that happened, and what came of it.

config.json    the settings, enough to repeat the run
state.json     where it stands; replaced atomically, so a reader never sees half of it
events.jsonl   every event, one a line
corpus/        the tokenized text            checkpoints/        to go on from
tokenizer/     its vocabulary                model/              the model, a Hugging Face folder
snapshots/     weights of steps 0, 1, 2, 5, 10 ... in 16 bits
"""

import contextlib
import json
import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from filelock import Timeout

from bertviz_lab.config import RunConfig, run_config
from bertviz_lab.errors import InputError
from bertviz_lab.training.checkpoints.atomic_io import disk_error, exclusive_lock, write_bytes, write_json
from bertviz_lab.training.checkpoints.checkpoint_manager import latest_checkpoint
from bertviz_lab.training.runs.events import (
    CheckpointSaved,
    Event,
    Preparing,
    RunFinished,
    RunStarted,
    StepDone,
    to_json,
)

#: In these a run is under way or in line; in the others it has ended and can be resumed unless it is finished.
ACTIVE = ("waiting", "starting", "preparing", "training")


@dataclass(frozen=True)
class RunState:
    """Where a run stands, as `state.json` holds it."""

    status: str = "starting"  # one of ACTIVE, or finished, stopped, failed
    message: str = ""
    step: int = 0
    total_steps: int | None = None
    seconds: float = 0.0
    eta_seconds: float | None = None
    model: str = ""  # folder of the newest model, empty before the first checkpoint
    pid: int = 0
    updated: float = 0.0  # Unix time


def read_state(folder: Path) -> RunState:
    """The state of a run. Raises `InputError` for a folder that is no run."""
    try:
        body = json.loads((folder / "state.json").read_text(encoding="utf-8"))
        return RunState(**{key: value for key, value in body.items() if key in RunState.__dataclass_fields__})
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise InputError(f"There is no run in {folder}.") from error


def write_state(folder: Path, state: RunState) -> None:
    """Say where a run stands, and when that was."""
    write_json(folder / "state.json", asdict(state) | {"updated": time.time()})


def read_config(folder: Path) -> RunConfig:
    """The settings of a run. Raises `InputError` where there are none."""
    try:
        return run_config(json.loads((folder / "config.json").read_text(encoding="utf-8")))
    except InputError:
        raise  # a setting that is out of range is named by itself
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise InputError(f"There is no run to go on with in {folder}.") from error


def record(events: Iterable[Event], folder: Path) -> Iterator[Event]:
    """Write every event to the run's log and state as it passes.

    A run that goes on from a checkpoint does again what came after it, so what the log tells of that is cut: it reads
    as if the run had never been interrupted. An `InputError` becomes the run's last event before it goes on
    up; any other error likewise, by its name. A full disk, whoever meets it, is an `InputError` too.
    """
    with _sole_writer(folder):
        for left in folder.glob(".*.json*-*"):  # by a kill while a file was being replaced
            left.unlink(missing_ok=True)
        known = read_state(folder) if (folder / "state.json").is_file() else RunState()
        state = replace(known, pid=os.getpid())
        log = _Log(folder / "events.jsonl")
        told = None  # the checkpoint gone on from, where the log has it
        try:
            for event in events:
                if isinstance(event, RunStarted):
                    told = log.cut_after_checkpoint(event.step)
                if not (isinstance(event, CheckpointSaved) and event.step == told):  # no step was taken since
                    log.append(event)
                state = next_state(state, event)
                write_state(folder, state)
                yield event
        except GeneratorExit:
            raise
        except BaseException as error:
            plain = _full_disk(error, folder)
            message = str(plain) if isinstance(plain, InputError) else f"{type(plain).__name__}: {plain}"
            event = RunFinished(state.step, state.seconds, "failed", state.model, message)
            with contextlib.suppress(OSError):  # where the disk is full, the exception is the last word
                log.append(event)
            with contextlib.suppress(OSError):
                write_state(folder, next_state(state, event))
            if plain is error:
                raise
            raise plain from error


def discard_failed_run(folder: Path) -> bool:
    """Clear the log of a run that failed before it had saved anything, such as over a column that is not there.

    Then another may begin in its folder; False where there is something to lose.
    """
    if latest_checkpoint(folder) is not None or read_state(folder).status != "failed":
        return False
    for name in ("events.jsonl", "state.json"):
        (folder / name).unlink(missing_ok=True)
    return True


class _Log:
    """The lines of `events.jsonl`: each is there whole and on the disk, or not at all."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.earlier = 0  # bytes of earlier sittings
        if path.is_file():
            self.earlier = path.read_bytes().rfind(b"\n") + 1
            os.truncate(path, self.earlier)  # a crash may have left half a line

    def append(self, event: Event) -> None:
        line = to_json(event).encode() + b"\n"
        with self.path.open("ab", buffering=0) as file:
            size = file.tell()
            try:
                while line:  # a disk that is nearly full takes a part, and tells why when asked again
                    line = line[file.write(line) :]
                os.fsync(file.fileno())
            except OSError:
                file.truncate(size)
                raise

    def cut_after_checkpoint(self, step: int) -> int | None:
        """Drop what earlier sittings tell of the time after a checkpoint; the step, if they tell of the checkpoint.

        A crash leaves the old log or the new one.
        """
        content = self.path.read_bytes() if self.earlier else b""
        end, told = 0, None
        for line in content[: self.earlier].splitlines(keepends=True):
            row = _row(line) or {}
            kind, at = row.get("event"), row.get("step") or 0
            if at > step or (kind == "RunStarted" and at == step):
                break
            end += len(line)
            if kind == "CheckpointSaved" and at == step:
                told = step
                break
        if end < self.earlier:
            write_bytes(self.path, content[:end] + content[self.earlier :])
            self.earlier = end
        return told


@contextlib.contextmanager
def _sole_writer(folder: Path) -> Iterator[None]:
    """Create the folder of a run if need be and hold its lock. Raises `InputError` where either is impossible."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder} cannot be written: {error.strerror}.") from error
    with contextlib.ExitStack() as held:
        try:
            held.enter_context(exclusive_lock(folder / ".lock", wait=False))
        except Timeout as error:
            raise InputError(f"Another process is training in {folder}; stop it, or name another folder.") from error
        yield


def _full_disk(error: BaseException, folder: Path) -> BaseException:
    """A sentence in the place of an error where it was the disk that failed."""
    reason = disk_error(error)
    if isinstance(error, InputError) or not reason:
        return error
    last = latest_checkpoint(folder)
    saved = f"The last checkpoint, {last}, is untouched" if last else "No checkpoint was saved yet"
    return InputError(f"{folder} could not be written: {reason}. {saved}: make room, then go on with --resume.")


def next_state(state: RunState, event: Event) -> RunState:
    """The state after an event."""
    changes: dict[str, Any] = {}
    if isinstance(event, Preparing):
        changes = {"status": "preparing", "message": event.message}
    elif isinstance(event, RunStarted):
        changes = {"status": "training", "message": "", "step": event.step, "total_steps": event.total_steps}
    elif isinstance(event, StepDone):
        changes = {"step": event.step, "seconds": event.seconds, "eta_seconds": event.eta_seconds}
    elif isinstance(event, CheckpointSaved):
        changes = {"step": event.step, "model": event.path}
    elif isinstance(event, RunFinished):
        model = event.path or state.model
        changes = {"status": event.reason, "message": event.message, "eta_seconds": None, "model": model}
        changes |= {"step": event.step, "seconds": event.seconds}
    return replace(state, **changes)


def read_log(folder: Path, start: int = 0) -> tuple[list[dict[str, Any]], int]:
    """The events after the first `start` bytes as plain rows, and where to read on.

    A half-written line at the end waits. A log that was cut while somebody read it is read from its beginning.
    """
    path = folder / "events.jsonl"
    if not path.is_file():
        return [], 0
    with path.open("rb") as file:
        file.seek(max(0, start - 1))
        if start and file.read(1) != b"\n":
            file.seek(start := 0)
        text = file.read()
    whole = text[: text.rfind(b"\n") + 1]
    return [row for line in whole.splitlines() if (row := _row(line)) is not None], start + len(whole)


def read_shipped_log(folder: Path) -> list[dict[str, Any]]:
    """The log that a model ships with, `training.jsonl`: the rows of its run's; [] where there is none."""
    with contextlib.suppress(OSError):
        lines = (folder / "training.jsonl").read_bytes().splitlines()
        return [row for line in lines if (row := _row(line)) is not None]
    return []


def _row(line: bytes) -> dict[str, Any] | None:
    try:
        row = json.loads(line)
    except ValueError:
        return None
    return row if isinstance(row, dict) else None
