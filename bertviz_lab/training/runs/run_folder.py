"""The folder of a run: its settings, its state, the log of its events, and its results.

config.json    the settings, enough to repeat the run
state.json     how far it is; replaced atomically            notes.json       a person's name, tags and note
events.jsonl   every event, one per line
corpus/        the tokenized text            checkpoints/        to resume from
tokenizer/     its vocabulary                model/              the model, a Hugging Face folder
snapshots/     fp16 weights of steps 0, 1, 2, 5, 10 ...
tracker.json   what an experiment tracker has of it, where there is one
"""

import contextlib
import errno
import json
import os
import platform
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeVar

from filelock import Timeout
from pydantic import FiniteFloat, TypeAdapter

from bertviz_lab.config import RunConfig, run_config
from bertviz_lab.errors import InputError
from bertviz_lab.training.checkpoints.atomic_io import clean_up, disk_error, exclusive_lock, write_bytes, write_json
from bertviz_lab.training.checkpoints.checkpoint_manager import latest_checkpoint
from bertviz_lab.training.runs import events

ConfigT = TypeVar("ConfigT", bound=RunConfig)

#: States of a run that trains or is queued; in the others it has ended, and can be resumed unless it is finished.
ACTIVE = ("waiting", "starting", "preparing", "training")
#: Locked while a process writes the run, by the system, also for machines that share the disk if it has locks.
LOCK_FILE = ".lock"


@dataclass(frozen=True)
class RunState:
    """How far a run is, as `state.json` has it."""

    status: Literal["waiting", "starting", "preparing", "training", "finished", "stopped", "failed"] = "starting"
    message: str = ""
    step: int = 0
    total_steps: int | None = None
    seconds: FiniteFloat = 0.0
    eta_seconds: FiniteFloat | None = None
    model: str = ""  # folder of the newest model, empty before the first checkpoint
    pid: int = 0
    host: str = ""  # the machine that `pid` is a process of
    updated: FiniteFloat = 0.0  # Unix time


_STATE = TypeAdapter(RunState)


def read_state(folder: Path) -> RunState:
    """Return the state of a run; one whose `state.json` is damaged has failed, as far as its log shows it came.

    Raises `InputError` for a folder without a state, which is no run. The message is without the folder: on a shared
    page its name is a secret.
    """
    try:
        content = (folder / "state.json").read_bytes()
    except OSError as error:
        raise InputError("This folder holds no run: it has no state.json that can be read.") from error
    try:
        return _STATE.validate_json(content, strict=True)
    except ValueError:
        return _state_from_log(folder)


def _state_from_log(folder: Path) -> RunState:
    """Return the state of a run whose `state.json` is damaged: its end, if it has one, or failed at its last step."""
    updated = (folder / "state.json").stat().st_mtime
    damaged = RunState("failed", "state.json of this run is damaged. Resume the run, or delete it.", updated=updated)
    body = asdict(damaged) | {"model": str(latest_checkpoint(folder) or "")}
    for row in read_log(folder)[0]:
        body |= {name: row[name] for name in ("step", "seconds", "total_steps") if name in row}
        if row.get("event") == "RunFinished":
            body |= {"status": row.get("reason"), "message": row.get("message")}
            body["model"] = row.get("path") or body["model"]
        elif row.get("event") == "RunStarted":
            body |= {"status": damaged.status, "message": damaged.message}
    try:
        return _STATE.validate_json(json.dumps(body), strict=True)
    except ValueError:
        return damaged


def write_state(folder: Path, state: RunState, durable: bool = True) -> None:
    """Write the state of a run, with the time."""
    write_json(folder / "state.json", asdict(state) | {"updated": time.time()}, durable)


def read_config(folder: Path) -> RunConfig:
    """Return the settings of a run. Raises `InputError` where there are none."""
    try:
        body = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        if not {"corpus", "train"} & body.keys():
            raise ValueError("the settings of something else")
        return run_config(body)
    except InputError:
        raise  # it names the setting that is out of range
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise InputError(f"There is no run to resume in {folder}.") from error


def write_config(folder: Path, config: RunConfig) -> None:
    """Write the settings of a run, unless they are there: the time of their file is when the run was started."""
    with contextlib.suppress(InputError):
        if read_config(folder) == config:
            return
    write_json(folder / "config.json", config.to_dict())


def require_no_other_files(folder: Path) -> None:
    """Raise `InputError` where a run in `folder` would overwrite files that do not belong to a run."""
    parts = [folder / name for name in ("corpus", "examples", "tokenizer") if (folder / name).is_dir()]
    parts += [folder / "config.json"] if (folder / "config.json").is_file() else []
    try:
        if parts:
            read_config(folder)
    except InputError as error:
        raise InputError(f"{parts[0]} is not part of a run and would be overwritten; name another folder.") from error


@contextlib.contextmanager
def failed_writes_explained(folder: Path) -> Iterator[None]:
    """Raise `InputError`, which says how the run in `folder` goes on, where its files could not be written."""
    try:
        yield
    except Exception as error:
        path = Path(error.filename or "") if isinstance(error, PermissionError) else Path()
        refused = folder.absolute() in path.absolute().parents
        reason = "Permission denied" if refused else disk_error(error)
        if isinstance(error, InputError) or not reason:
            raise
        last = latest_checkpoint(folder)
        saved = f"The last checkpoint, {last}, is untouched" if last else "No checkpoint was saved yet"
        remedy = "allow writing there" if refused or reason == os.strerror(errno.EROFS) else "free some space"
        again = f"{remedy}, then resume with `resume=True`"
        raise InputError(f"{folder} could not be written: {reason}. {saved}: {again}.") from error


def record(stream: Iterable[events.Event], folder: Path) -> Iterator[events.Event]:
    """Write every event to the run's log and state, and pass it on.

    A run that resumes from a checkpoint repeats the steps after it, so the log is cut there: it reads as if the run
    had never been interrupted. An error becomes the run's last event and is raised again. Raises `InputError` where
    another process writes this folder, or the disk is full.
    """
    with _sole_writer(folder):
        clean_up(folder, "*.json*")
        known = read_state(folder) if (folder / "state.json").is_file() else RunState()
        state = replace(known, pid=os.getpid(), host=platform.node())
        with failed_writes_explained(folder):
            log = _Log(folder / "events.jsonl")
        logged = None  # the step of the checkpoint that the run resumes from, if the log has it
        try:
            for event in stream:
                with failed_writes_explained(folder):
                    if isinstance(event, events.RunStarted):
                        logged = log.cut_after_checkpoint(event.step)
                    # They come twice a second; waiting for the disk each time took 3% of a small model's training.
                    durable = not isinstance(event, events.StepDone)
                    repeated = isinstance(event, events.CheckpointSaved) and event.step == logged
                    if not repeated:
                        log.append(event, durable)
                    state = next_state(state, event)
                    write_state(folder, state, durable)
                yield event
        except GeneratorExit:
            raise
        except BaseException as error:
            message = str(error) if isinstance(error, InputError) else f"{type(error).__name__}: {error}"
            event = events.RunFinished(state.step, state.seconds, "failed", state.model, message)
            with contextlib.suppress(OSError):  # where the disk is full, the exception is all that is left
                log.append(event)
            with contextlib.suppress(OSError):
                write_state(folder, next_state(state, event))
            raise


def discard_failed_run(folder: Path) -> bool:
    """Clear the log of a run that failed before its first checkpoint, for example over a missing column.

    Then another run may start in its folder, also where a full disk left it without a state. Returns False where
    there is something to lose.
    """
    stateless = not (folder / "state.json").is_file()
    if latest_checkpoint(folder) is not None or not (stateless or read_state(folder).status == "failed"):
        return False
    for name in ("events.jsonl", "state.json", "tracker.json"):
        (folder / name).unlink(missing_ok=True)
    return True


class _Log:
    """The lines of `events.jsonl`: each is written completely and flushed, or not at all."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.earlier = 0  # bytes of earlier sessions
        if path.is_file():
            self.earlier = path.read_bytes().rfind(b"\n") + 1
            os.truncate(path, self.earlier)  # a crash may have left an incomplete line

    def append(self, event: events.Event, durable: bool = True) -> None:
        line = events.to_json(event).encode() + b"\n"
        with self.path.open("ab", buffering=0) as file:
            size = file.tell()
            try:
                while line:  # a disk that is nearly full takes a part, and fails at the next attempt
                    line = line[file.write(line) :]
                if durable:  # with all lines before it
                    os.fsync(file.fileno())
            except OSError:
                file.truncate(size)
                raise

    def cut_after_checkpoint(self, step: int) -> int | None:
        """Drop the events of earlier sessions after a checkpoint; returns its step if the log has the checkpoint.

        An earlier end goes, too: one of a session that was stopped while it prepared has no step. The log is replaced
        atomically.
        """
        content = self.path.read_bytes() if self.earlier else b""
        lines, logged = [], None
        for line in content[: self.earlier].splitlines(keepends=True):
            row = _row(line) or {}
            kind, row_step = row.get("event"), row.get("step") or 0
            if row_step > step or (kind == "RunStarted" and row_step == step):
                break
            if kind != "RunFinished":
                lines.append(line)
            if kind == "CheckpointSaved" and row_step == step:
                logged = step
                break
        kept = b"".join(lines)
        if len(kept) < self.earlier:
            write_bytes(self.path, kept + content[self.earlier :])
            self.earlier = len(kept)
        return logged


@contextlib.contextmanager
def _sole_writer(folder: Path) -> Iterator[None]:
    """Create the folder of a run if need be and hold its lock. Raises `InputError` where either is impossible."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder} cannot be written: {error.strerror}.") from error
    try:
        with exclusive_lock(folder / LOCK_FILE, seconds=1):
            yield
    except Timeout as error:
        raise InputError(f"Another process is training in {folder}; stop it, or name another folder.") from error


def next_state(state: RunState, event: events.Event) -> RunState:
    """Return the state after an event."""
    changes: dict[str, Any] = {}
    if isinstance(event, events.Preparing):
        changes = {"status": "preparing", "message": event.message}
    elif isinstance(event, events.RunStarted):
        changes = {"status": "training", "message": "", "step": event.step, "total_steps": event.total_steps}
    elif isinstance(event, events.StepDone):
        changes = {"step": event.step, "seconds": event.seconds, "eta_seconds": event.eta_seconds}
    elif isinstance(event, events.CheckpointSaved):
        changes = {"step": event.step, "model": event.path}
    elif isinstance(event, events.RunFinished):
        model = event.path or state.model
        changes = {"status": event.reason, "message": event.message, "eta_seconds": None, "model": model}
        changes |= {"step": event.step, "seconds": event.seconds}
    return replace(state, **changes)


#: The log that a shipped model comes with.
SHIPPED_LOG = "training.jsonl"


def read_log(folder: Path, start: int = 0, name: str = "events.jsonl") -> tuple[list[dict[str, Any]], int]:
    """Return the events after the first `start` bytes as dictionaries, and the offset to continue from.

    An incomplete last line is left for the next call. A log that was cut meanwhile is read from its beginning.
    """
    path = folder / name
    if not path.is_file():
        return [], 0
    with path.open("rb") as file:
        file.seek(max(0, start - 1))
        if start and file.read(1) != b"\n":
            file.seek(start := 0)
        text = file.read()
    lines = text[: text.rfind(b"\n") + 1]
    return [row for line in lines.splitlines() if (row := _row(line)) is not None], start + len(lines)


def _row(line: bytes) -> dict[str, Any] | None:
    with contextlib.suppress(ValueError):
        return row if isinstance(row := json.loads(line), dict) else None
    return None
