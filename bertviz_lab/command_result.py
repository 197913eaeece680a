"""The result of a command, and the file that it writes."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bertviz_lab.errors import InputError


@dataclass(frozen=True)
class Result:
    """The result of a command: text for people, JSON for programs."""

    body: dict[str, Any]
    text: str
    code: int = 0
    silent: bool = False  # not the main process of a distributed run
    notes: tuple[str, ...] = ()  # sentences for people, on stderr


def write_file(path: Path, content: bytes) -> None:
    """Write a file that a person named. Raises `InputError` where it cannot be written."""
    try:
        path.write_bytes(content)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}.") from error
