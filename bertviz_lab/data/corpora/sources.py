"""Paths in, readable sources out: files, those a pattern names, files in folders and zips, checked before any is read.

Nothing is ever unpacked to disk: a member of a zip is a stream, so names that point elsewhere do no harm.
"""

import glob
import io
import os
import stat
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from bertviz_lab.data.corpora.file_signatures import container_kind
from bertviz_lab.data.corpora.reading_notes import ReadingNotes, printable, quoted
from bertviz_lab.errors import InputError

#: Text that somebody sends may be this large altogether, after unpacking. A person's own is read however large it is.
MAX_BYTES = 500_000_000
#: A zip that grows by more than this factor is refused; prose grows by 3 to 5, tables by up to 50.
MAX_INFLATION = 100
#: A zip that grows to less than this many bytes may grow by any factor.
_HARMLESS_BYTES = 16 << 20
_MAX_MEMBERS = 100_000

FORMATS = {
    ".txt": "text",
    ".text": "text",
    ".md": "markdown",
    ".markdown": "markdown",
    ".csv": "table",
    ".tsv": "table",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
}
READABLE = "a .txt, .md, .csv, .tsv, .jsonl or .json file, or a .zip of these"


@dataclass(frozen=True)
class Kinds:
    """Which files are taken from folders and zips: their endings, each with its format, and how to name them."""

    formats: Mapping[str, str]
    readable: str


TEXTS = Kinds(FORMATS, READABLE)

OnProgress = Callable[[int, int], None]  # bytes done, bytes in all


@dataclass
class Meter:
    """Bytes read so far, over all sources: reports progress and stops what is larger than it said."""

    total: int  # 0 where it is not known
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


@dataclass(frozen=True)
class Source:
    """One readable text: a file, or a member of a zip.

    Attributes:
        name: for people; members are "archive.zip/member".
        format: one of the values of `FORMATS`.
        size: bytes, unpacked.
        named: the person named this very file, so trouble with it is an error; others are skipped and noted.
    """

    name: str
    format: str
    size: int
    path: Path
    named: bool = True
    archive: zipfile.ZipFile | None = field(default=None, repr=False)
    member: zipfile.ZipInfo | None = field(default=None, repr=False)

    def open(self, meter: Meter | None = None) -> io.BufferedReader:
        """The bytes as a buffered stream that counts into `meter`."""
        raw: IO[bytes]
        if self.archive is not None and self.member is not None:
            raw = self.archive.open(self.member)
        else:
            raw = self.path.open("rb", buffering=0)
        return io.BufferedReader(_Metered(raw, meter, self.name), buffer_size=1 << 18)


class _Metered(io.RawIOBase):
    """A stream that counts what is read from it."""

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


def find_sources(
    paths: Sequence[str | Path] | str | Path,
    notes: ReadingNotes,
    max_bytes: float = MAX_BYTES,
    kinds: Kinds = TEXTS,
) -> list[Source]:
    """The readable files behind `paths`, in the order given; folders, zips and patterns in the order of names.

    In a pattern ("books/*.txt", "texts/**") stands * for any characters, ? for one, and ** for folders at any depth.

    Raises:
        InputError: a path is missing, unreadable, empty, too large, no zip, a zip bomb or encrypted, or a
            folder, zip or pattern gives nothing readable. Sizes come from the file system and the zip's table: no text
            is read yet.
    """
    if isinstance(paths, (str, Path)):
        paths = [paths]
    if not paths:
        raise InputError(f"No file was given; choose {kinds.readable}.")
    sources: list[Source] = []
    for given in paths:
        path = Path(given)
        if glob.has_magic(str(given)) and not os.path.exists(path):
            sources.extend(_of_pattern(str(given), notes, max_bytes, kinds))
            continue
        mode, size = _status(path)
        if stat.S_ISDIR(mode):
            sources.extend(_in_folder(path, notes, max_bytes, kinds))
        elif not stat.S_ISREG(mode):
            raise InputError(f"{quoted(path.name or str(path))} is not a regular file; give {kinds.readable}.")
        else:
            sources.extend(_of_file(path, path.name, size, notes, max_bytes, kinds, named=True))
    total = sum(source.size for source in sources)
    if total > max_bytes:
        close_archives(sources)
        raise InputError(
            f"The files hold {megabytes(total)} of text together, more than {megabytes(max_bytes)}; take fewer of them."
        )
    return sources


def close_archives(sources: Iterable[Source]) -> None:
    """Close the zips that sources are members of."""
    for archive in {id(s.archive): s.archive for s in sources if s.archive is not None}.values():
        archive.close()


def _of_pattern(pattern: str, notes: ReadingNotes, max_bytes: float, kinds: Kinds) -> Iterator[Source]:
    """The files that a pattern names; one that cannot be read is noted, as in a folder."""
    paths = sorted(path for path in glob.glob(pattern, recursive=True) if os.path.isfile(path))
    if not paths:
        raise InputError(f"No file is named like the pattern {quoted(pattern)}; check the name and the folder.")
    any_source = False
    for path in map(Path, paths):
        try:
            for source in _of_file(path, path.as_posix(), _status(path)[1], notes, max_bytes, kinds, named=False):
                any_source = True
                yield source
        except InputError as error:
            notes.skipped.append(str(error))
    if not any_source:
        raise InputError(f"No file like {quoted(pattern)} is readable; give {kinds.readable}.{_first(notes)}")


def _status(path: Path) -> tuple[int, int]:
    name = quoted(path.name or str(path))
    try:
        status = os.stat(path)
    except FileNotFoundError:
        raise InputError(f"There is no file {quoted(str(path))}; check the name and the folder.") from None
    except PermissionError:
        raise InputError(f"{name} may not be read by this user; change its permissions.") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{quoted(str(path))} cannot be a file name ({_reason(error)}); check it.") from None
    return status.st_mode, status.st_size


def _of_file(
    path: Path, name: str, size: int, notes: ReadingNotes, max_bytes: float, kinds: Kinds, *, named: bool
) -> Iterable[Source]:
    if size == 0:
        raise InputError(f"{quoted(name)} is empty; choose a file with text in it.")
    try:
        with path.open("rb") as file:
            head = file.read(4)
    except OSError as error:
        raise InputError(f"{quoted(name)} cannot be opened ({_reason(error)}); check its permissions.") from None
    suffix = path.suffix.lower()
    if head[:4] == b"PK\x03\x04" or suffix == ".zip":  # the zip's own size does not matter, what it holds does
        return _in_zip(path, name, notes, max_bytes, kinds)
    if size > max_bytes:
        raise InputError(
            f"{quoted(name)} is {megabytes(size)} large, more than {megabytes(max_bytes)}; "
            "split it, or take a part of it."
        )
    return [Source(printable(name), kinds.formats.get(suffix, "text"), size, path, named=named)]


def _in_folder(folder: Path, notes: ReadingNotes, max_bytes: float, kinds: Kinds) -> Iterator[Source]:
    """Files with a known ending, below `folder` at any depth, without hidden ones and links to folders."""
    any_source = False
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(f for f in folders if not f.startswith("."))
        for name in sorted(names):
            path = Path(parent, name)
            if name.startswith(".") or path.suffix.lower() not in {*kinds.formats, ".zip"}:
                continue
            shown = path.relative_to(folder).as_posix()
            try:
                mode, size = _status(path)
                if stat.S_ISREG(mode):
                    for source in _of_file(path, shown, size, notes, max_bytes, kinds, named=False):
                        any_source = True
                        yield source
            except InputError as error:
                notes.skipped.append(str(error))
    if not any_source:
        shown = quoted(folder.name or str(folder))
        raise InputError(f"The folder {shown} holds nothing readable; put in it {kinds.readable}.{_first(notes)}")


def _in_zip(path: Path, name: str, notes: ReadingNotes, max_bytes: float, kinds: Kinds) -> list[Source]:
    shown = quoted(name)
    try:
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, NotImplementedError, OSError, ValueError, EOFError):
        raise InputError(
            f"{shown} is not a valid zip file; make it again, or give the text files themselves."
        ) from None
    try:
        return _members(archive, path, name, notes, max_bytes, kinds)
    except BaseException:
        archive.close()
        raise


def _members(
    archive: zipfile.ZipFile, path: Path, name: str, notes: ReadingNotes, max_bytes: float, kinds: Kinds
) -> list[Source]:
    shown = quoted(name)
    infos = archive.infolist()
    if len(infos) > _MAX_MEMBERS:
        raise InputError(f"{shown} holds {len(infos):,} files, more than {_MAX_MEMBERS:,}; take fewer.")
    document = container_kind({info.filename for info in infos})
    if document:
        ending = ".csv" if "Excel" in document else ".txt"
        raise InputError(f"{shown} is {document}; open it and save it as plain text ({ending}).")
    sources = []
    for info in sorted(infos, key=lambda info: info.filename):
        parts = info.filename.replace("\\", "/").split("/")
        if info.is_dir() or any(part.startswith((".", "__MACOSX")) and part not in ("..", ".") for part in parts):
            continue
        inner = printable(f"{name}/" + "/".join(part for part in parts if part not in ("", ".", "..")))
        suffix = Path(parts[-1]).suffix.lower()
        if suffix == ".zip":
            notes.skipped.append(f"{quoted(inner)} is a zip inside a zip and was not opened.")
        elif info.file_size == 0 and suffix in kinds.formats:
            notes.skipped.append(f"{quoted(inner)} is empty and was left out.")
        elif suffix in kinds.formats and not stat.S_ISLNK(info.external_attr >> 16):
            if info.flag_bits & 1:
                raise InputError(f"{shown} is protected by a password; make a zip without one.")
            sources.append(
                Source(inner, kinds.formats[suffix], info.file_size, path, named=False, archive=archive, member=info)
            )
    if not sources:
        raise InputError(f"{shown} holds nothing readable; put in it {kinds.readable}.")
    total, packed = sum(source.size for source in sources), path.stat().st_size
    if total > max_bytes:
        raise InputError(f"{shown} unpacks to {megabytes(total)}, more than {megabytes(max_bytes)}; take a part of it.")
    if total > _HARMLESS_BYTES and total > MAX_INFLATION * packed:
        raise InputError(
            f"{shown} would unpack to {total // max(packed, 1):,} times its size, as a zip bomb does; "
            "give the text files themselves."
        )
    return sources


def megabytes(count: float) -> str:
    """A size for people, in units of 1,000,000 bytes."""
    return f"{count / 1e6:,.0f} MB" if count >= 1e6 else f"{count / 1e3:,.1f} kB"


def _reason(error: Exception) -> str:
    return (error.strerror or "unreadable") if isinstance(error, OSError) else "it has characters no name may have"


def _first(notes: ReadingNotes) -> str:
    return f" First reason: {notes.skipped[0]}" if notes.skipped else ""
