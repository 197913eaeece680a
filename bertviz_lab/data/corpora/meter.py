"""Bytes counted as they are read: progress, and the limit on what is read."""

import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO

from bertviz_lab.data.corpora.reading_notes import quoted
from bertviz_lab.errors import InputError

OnProgress = Callable[[int, int], None]  # bytes done, total bytes


@dataclass
class Meter:
    """Bytes read over all sources: reports progress and enforces the limit."""

    total: int  # 0 if unknown
    max_bytes: float
    on_progress: OnProgress | None = None
    done: int = 0
    _reported: int = 0

    def add(self, count: int, name: str) -> None:
        self.done += count
        if self.done > self.max_bytes:
            raise InputError(
                f"{quoted(name)} is larger than {megabytes(self.max_bytes)}; split it, or take a part of it."
            )
        if self.on_progress and self.done - self._reported >= max(1 << 18, self.total // 200):
            self._reported = self.done
            self.on_progress(min(self.done, self.total) if self.total else self.done, self.total)

    def finish(self) -> None:
        if self.on_progress:
            self.on_progress(self.total or self.done, self.total)


class MeteredStream(io.RawIOBase):
    """A stream that counts the bytes read."""

    def __init__(self, stream: IO[bytes], meter: Meter | None, name: str) -> None:
        self._stream, self._meter, self._name = stream, meter, name

    def readable(self) -> bool:
        return True

    def readinto(self, buffer) -> int:  # type: ignore[no-untyped-def]  # any writable buffer; not nameable in 3.11
        data = self._stream.read(len(buffer))
        buffer[: len(data)] = data
        if self._meter:
            self._meter.add(len(data), self._name)
        return len(data)

    def close(self) -> None:
        self._stream.close()
        super().close()


def megabytes(count: float) -> str:
    """A size for messages, in units of 1,000,000 bytes."""
    return f"{count / 1e6:,.0f} MB" if count >= 1e6 else f"{count / 1e3:,.1f} kB"
