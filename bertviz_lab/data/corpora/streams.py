"""The bytes of a file: unpacked and counted while they are read, and refused where they are no text.

A file that is compressed (gz, bz2, xz, zst), alone or in a zip, is unpacked while it is read.
"""

import bz2
import csv
import gzip
import io
import lzma
import math
from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources
from pathlib import Path, PurePath
from typing import IO, Any, cast

from bertviz_lab.data.corpora.reading_notes import quoted
from bertviz_lab.errors import InputError

_SMALL, _MOST_TIMES = 16 << 20, 100  # bytes that may be packed as tightly as can be; prose unpacks to 3 to 5 times

OnProgress = Callable[[int, int], None]  # bytes done, total bytes


@dataclass
class Meter:
    """Bytes read over all sources: reports progress and enforces the limit."""

    total: int = 0  # 0 if unknown
    max_bytes: float = math.inf
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
    """A stream that counts the bytes it yields: unpacked ones, if the file of `size` bytes is compressed."""

    def __init__(self, raw: Any, meter: Meter | None, name: str, size: int) -> None:
        self._raw, self._meter, self._name = raw, meter, name
        unpack = unpacker(raw.peek(10))
        self._stream: IO[bytes] = unpack(raw) if unpack else raw  # `raw` is a file, or one in a zip: both can peek
        self._left = max(_SMALL, _MOST_TIMES * size) if unpack else math.inf

    def readable(self) -> bool:
        return True

    def readinto(self, buffer) -> int:  # type: ignore[no-untyped-def]  # any writable buffer; not nameable in 3.11
        data = self._stream.read(len(buffer))
        buffer[: len(data)] = data
        self._left -= len(data)
        if self._left < 0:
            raise InputError(f"{quoted(self._name)} unpacks to more than is read of a file; take a part of it.")
        if self._meter:
            self._meter.add(len(data), self._name)
        return len(data)

    def close(self) -> None:
        self._stream.close()
        self._raw.close()  # which what unpacks leaves open
        super().close()


def megabytes(count: float) -> str:
    """Return a size for messages, in units of 1,000,000 bytes."""
    return f"{count / 1e6:,.0f} MB" if count >= 1e6 else f"{count / 1e3:,.1f} kB"


# What a file is, where its first bytes are, what they may be (in hexadecimal), and what to do.
_TABLE = resources.files(__package__).joinpath("signatures.tsv").read_text(encoding="utf-8")
_SIGNATURES = [
    (row["what"], int(row["offset"]), tuple(map(bytes.fromhex, row["bytes"].split())), row["advice"])
    for row in csv.DictReader(_TABLE.splitlines(), delimiter="\t")
]


def refuse_binary(name: str, head: bytes) -> None:
    """Raise `InputError` for a file whose first bytes are those of anything but text."""
    for what, offset, magics, advice in _SIGNATURES:
        # Eight arbitrary bytes and `{"` may be text; a little-endian length ends in zeros.
        zeros = {8: head[5:8], 4: head[:2]}.get(offset, b"")
        if head.startswith(magics, offset) and not zeros.strip(b"\0"):
            raise InputError(f"{quoted(name)} is {what}, not text; {advice}.")
    start = head[:1024].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if start.startswith((b"<!doctype html", b"<html", b"<table")):
        what = "is a web page (HTML), not text; open it in a browser and save its text as .txt."
        raise InputError(f"{quoted(name)} {what}")


def _zstandard(file: IO[bytes]) -> IO[bytes]:
    import pyarrow  # imported here: it takes a while, and few files need it

    return cast(IO[bytes], pyarrow.CompressedInputStream(file, "zstd"))


# The first bytes of a compressed file, and what unpacks it.
_UNPACKERS: dict[bytes, Callable[[IO[bytes]], IO[bytes]]] = {
    b"\x1f\x8b\x08": lambda file: cast(IO[bytes], gzip.GzipFile(fileobj=file)),
    b"BZh91AY&SY": bz2.BZ2File,
    b"\xfd7zXZ\x00": lzma.LZMAFile,
    b"\x28\xb5\x2f\xfd": _zstandard,
}
_PACKED_SUFFIXES = (".gz", ".bz2", ".xz", ".zst")


def suffix_of(name: str | Path) -> str:
    """Return the suffix of a file in lower case; of "train.csv.gz" it is ".csv"."""
    path = PurePath(name)
    return PurePath(path.stem if path.suffix.lower() in _PACKED_SUFFIXES else path).suffix.lower()


def refuse_bomb(name: str, total: float, packed: int, max_bytes: float) -> None:
    """Raise `InputError` for an archive that would unpack to too many bytes, or to many times its size."""
    if total > max_bytes:
        what = f"unpacks to {megabytes(total)}, more than {megabytes(max_bytes)}; take a part of it."
    elif total > _SMALL and total > _MOST_TIMES * packed:
        times = f"{total // max(packed, 1):,} times its size"
        what = f"would unpack to {times}, as a zip bomb does; give the text files themselves."
    else:
        return
    raise InputError(f"{quoted(name)} {what}")


def unpacker(head: bytes) -> Callable[[IO[bytes]], IO[bytes]] | None:
    """Return what unpacks a file by its first bytes; None for one that is not compressed."""
    return next((unpack for magic, unpack in _UNPACKERS.items() if head.startswith(magic)), None)
