"""The result of a command, the file that it writes, and what ends it early."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bertviz_lab.config.options import in_flags
from bertviz_lab.errors import InputError
from bertviz_lab.training.checkpoints.atomic_io import disk_error, write_bytes

#: Exit code of a command that Ctrl-C or SIGTERM ended.
INTERRUPTED = 130


@dataclass(frozen=True)
class Result:
    """The result of a command: text for people, JSON for programs."""

    body: dict[str, Any]
    text: str
    code: int = 0
    silent: bool = False  # not the main process of a distributed run
    notes: tuple[str, ...] = ()  # sentences for people, on stderr


def notes_of(*sentences: str) -> tuple[str, ...]:
    """Return the notes of a result; empty sentences are left out."""
    return tuple(f"Note: {sentence}" for sentence in sentences if sentence)


def notice(line: str) -> None:
    """Print a line for people, on stderr, with options where it names arguments."""
    print(in_flags(line), file=sys.stderr, flush=True)


def write_file(path: Path, content: bytes) -> None:
    """Write a file that a person named, whole or not at all. Raises `InputError` where it cannot be written."""
    try:
        if path.exists() and not path.is_file():  # a pipe, or /dev/stdout
            path.write_bytes(content)
        else:
            write_bytes(path.resolve(), content)  # a link stays one
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}.") from error


def file_error(error: Exception) -> str:
    """Return one line for a file or folder that cannot be read or written, or a full disk; "" for any other error."""
    path = error.filename if isinstance(error, OSError) else None
    reason = disk_error(error) or (error.strerror if isinstance(error, OSError) and path is not None else "")
    return f"{'A file' if path is None else path} cannot be read or written: {reason}." if reason else ""
