"""Pieces of work for confined processes, well-behaved and hostile."""

import math
import os
import socket
import sys
import time
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Answer:
    words: tuple[str, ...]
    shares: dict[str, float]


def answer() -> Answer:
    return Answer(("été", "a\ud800b"), {"nan": math.nan, "most": math.inf})


def bytes_of(count: int) -> int:
    return len(bytearray(count))


def endless() -> None:
    while True:
        pass


def asleep() -> None:
    time.sleep(600)


def aborts() -> None:
    os.abort()


def dies(status: int) -> None:
    os._exit(status)


def mistaken() -> int:
    return {"secret": 1}["a secret of the file"]


def process_ids() -> tuple[int, int]:
    return os.getpid(), os.getppid()


def wordy(count: int) -> str:
    return "a" * count


def printing() -> str:
    sys.stdout.write("noise")
    sys.stdout.flush()
    os.write(1, b"noise")
    return sys.stdin.read()


def writing(path: Path, count: int) -> int:
    return path.write_bytes(bytes(count))


def many_sockets() -> int:
    held = [socket.socket() for _ in range(5000)]
    return len(held)


def lying() -> int:
    return "not a number"  # type: ignore[return-value]


class Harmful:
    """Would write a file if an answer were unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def harmful(path: Path) -> Answer:
    return Harmful(path)  # type: ignore[return-value]


def environment() -> list[str]:
    return sorted({*os.environ, *_inherited()})


def _inherited() -> list[str]:
    """The names that the process was started with, whatever Python has removed."""
    path = Path("/proc/self/environ")
    return [entry.partition("=")[0] for entry in path.read_text().split("\0") if entry] if path.exists() else []
