"""A run's folder: what it was asked to do, where it stands, all that happened, and what came of it.

config.json    the settings, enough to repeat the run
state.json     where it stands; replaced atomically, so a reader never sees half of it
events.jsonl   every event, one a line
corpus/        the tokenized text            checkpoints/last/   to go on from
tokenizer/     its vocabulary                model/              the model, a Hugging Face folder
"""

import json
import os
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from bertviz_lab.config import PretrainConfig
from bertviz_lab.errors import InputError
from bertviz_lab.training.events import (
    CheckpointSaved,
    Event,
    Preparing,
    RunFinished,
    RunStarted,
    StepDone,
    to_json,
)

#: In these a run is under way; in the others it has ended and can be resumed unless it is finished.
ACTIVE = ("starting", "preparing", "training")


@dataclass(frozen=True)
class RunState:
    """Where a run stands, as `state.json` holds it."""

    status: str = "starting"  # starting, preparing, training, finished, stopped, failed
    message: str = ""
    step: int = 0
    total_steps: int | None = None
    seconds: float = 0.0
    eta_seconds: float | None = None
    model: str = ""  # folder of the newest model, empty before the first checkpoint
    pid: int = 0
    updated: float = 0.0  # Unix time


def write_json(path: Path, body: Any) -> None:
    """Replace a JSON file in one step: a reader, or a crash, meets the old text or the new one."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(body, file, indent=2, ensure_ascii=False)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


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


def read_config(folder: Path) -> PretrainConfig:
    """The settings of a run. Raises `InputError` where there are none."""
    try:
        return PretrainConfig.from_dict(json.loads((folder / "config.json").read_text(encoding="utf-8")))
    except InputError:
        raise  # a setting that is out of range is named by itself
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise InputError(f"There is no run to go on with in {folder}.") from error


def record(events: Iterable[Event], folder: Path) -> Iterator[Event]:
    """Write every event to the run's log and state as it passes.

    An `InputError` becomes the run's last event before it goes on up; any other error likewise, by its name.
    """
    known = read_state(folder) if (folder / "state.json").is_file() else RunState()
    state = replace(known, pid=os.getpid())
    path = folder / "events.jsonl"
    torn = path.is_file() and path.read_bytes()[-1:] not in (b"", b"\n")
    with path.open("a", encoding="utf-8", buffering=1) as log:
        if torn:  # a crash left half a line: the next event must not be joined to it
            log.write("\n")
        try:
            for event in events:
                log.write(to_json(event) + "\n")
                state = advance(state, event)
                write_state(folder, state)
                yield event
        except GeneratorExit:
            raise
        except BaseException as error:
            message = str(error) if isinstance(error, InputError) else f"{type(error).__name__}: {error}"
            event = RunFinished(state.step, state.seconds, "failed", state.model, message)
            log.write(to_json(event) + "\n")
            write_state(folder, advance(state, event))
            raise


def advance(state: RunState, event: Event) -> RunState:
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

    A half-written line at the end waits; one that a crash left in the middle is passed over.
    """
    path = folder / "events.jsonl"
    if not path.is_file():
        return [], 0
    with path.open("rb") as file:
        file.seek(start)
        text = file.read()
    whole = text[: text.rfind(b"\n") + 1]
    return [row for line in whole.splitlines() if (row := _row(line)) is not None], start + len(whole)


def _row(line: bytes) -> dict[str, Any] | None:
    try:
        row = json.loads(line)
    except ValueError:
        return None
    return row if isinstance(row, dict) else None
