"""Resolve paths, patterns, folders and zips to readable sources, checked before any is read.

Zips are never unpacked to disk: members are streamed, so their paths cannot escape.
"""

import glob
import io
import os
import stat
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from bertviz_lab.data.corpora.reading_notes import ReadingNotes, printable, quoted
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


_CONVERT = "open it and save it as plain text (.txt)"
_UNPACK = "unpack it, or pack the texts as a .zip"
_OTHER = "give a text file instead (.txt, .md, .csv, .jsonl or a .zip of these)"

# (offset, bytes, what it is, what to do)
_SIGNATURES: tuple[tuple[int, bytes, str, str], ...] = (
    (0, b"%PDF-", "a PDF", _CONVERT),
    (0, b"{\\rtf", "a Rich Text document", _CONVERT),
    (0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Word, Excel or PowerPoint file", _CONVERT),
    (0, b"%!PS", "a PostScript file", _CONVERT),
    (0, b"\x1f\x8b", "compressed with gzip", _UNPACK),
    (0, b"BZh", "compressed with bzip2", _UNPACK),
    (0, b"\xfd7zXZ\x00", "compressed with xz", _UNPACK),
    (0, b"\x28\xb5\x2f\xfd", "compressed with zstandard", _UNPACK),
    (0, b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive", _UNPACK),
    (0, b"Rar!\x1a\x07", "a RAR archive", _UNPACK),
    (257, b"ustar", "a tar archive", _UNPACK),
    (0, b"\x89PNG\r\n\x1a\n", "a PNG picture", _OTHER),
    (0, b"\xff\xd8\xff", "a JPEG picture", _OTHER),
    (0, b"GIF8", "a GIF picture", _OTHER),
    (0, b"II*\x00", "a TIFF picture", _OTHER),
    (0, b"MM\x00*", "a TIFF picture", _OTHER),
    (0, b"\x7fELF", "a program (ELF)", _OTHER),
    (0, b"MZ\x90\x00", "a Windows program", _OTHER),
    (0, b"\xcf\xfa\xed\xfe", "a macOS program", _OTHER),
    (0, b"\xca\xfe\xba\xbe", "a compiled program", _OTHER),
    (0, b"SQLite format 3\x00", "a SQLite database", _OTHER),
    (0, b"PAR1", "a Parquet table", "export it as .csv or .jsonl"),
    (0, b"ARROW1", "an Arrow table", "export it as .csv or .jsonl"),
    (0, b"\x93NUMPY", "a NumPy array", _OTHER),
    (0, b"\x89HDF\r\n\x1a\n", "an HDF5 file", _OTHER),
    (0, b"GGUF", "model weights (GGUF)", _OTHER),
    (8, b'{"', "model weights (safetensors)", _OTHER),
    (0, b"ID3", "a sound file", _OTHER),
    (0, b"OggS", "a sound file", _OTHER),
    (0, b"fLaC", "a sound file", _OTHER),
    (0, b"RIFF", "a sound, video or picture file", _OTHER),
    (4, b"ftyp", "a video or picture file", _OTHER),
    (0, b"\x1aE\xdf\xa3", "a video file", _OTHER),
    (0, b"wOF", "a font", _OTHER),
)

_CONTAINERS = (
    ("word/document.xml", "a Word document"),
    ("xl/workbook.xml", "an Excel workbook"),
    ("ppt/presentation.xml", "a PowerPoint presentation"),
    ("META-INF/container.xml", "an e-book (EPUB)"),
    ("content.xml", "an OpenDocument file"),
    ("META-INF/MANIFEST.MF", "a Java archive"),
)


def binary_kind(head: bytes) -> tuple[str, str] | None:
    """The kind of a file with these first bytes, and advice; None where it may be text."""
    for offset, magic, what, advice in _SIGNATURES:
        if head[offset : offset + len(magic)] == magic:
            # Eight arbitrary bytes and `{"` may be text; a little-endian length ends in zeros.
            if offset == 8 and head[5:8] != b"\x00\x00\x00":
                continue
            if offset == 4 and head[:2] != b"\x00\x00":
                continue
            return what, advice
    if head[:1] == b"\x80" and head[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05"):
        return "a Python pickle", _OTHER
    start = head[:1024].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if start.startswith((b"<!doctype html", b"<html")):
        return "a web page (HTML)", "open it in a browser and save its text as .txt"
    return None


def container_kind(names: Set[str]) -> str | None:
    """The kind of document of a zip with these members; None for a plain zip."""
    if any(name.endswith("/data.pkl") for name in names):
        return "a PyTorch file"
    for member, what in _CONTAINERS:
        if member in names:
            return what
    return None


#: Maximum total size of uploaded text, unpacked. Local files have no limit.
MAX_BYTES = 500_000_000
#: A zip with a higher compression ratio is rejected; prose has 3 to 5, tables up to 50.
MAX_INFLATION = 100
#: A zip that unpacks to less than this may have any compression ratio.
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
    """Files to read from folders and zips: the format of each suffix, and a description for messages."""

    formats: Mapping[str, str]
    readable: str


TEXTS = Kinds(FORMATS, READABLE)


@dataclass(frozen=True)
class Source:
    """One readable text: a file, or a member of a zip.

    Attributes:
        name: for display; members are "archive.zip/member".
        format: one of the values of `FORMATS`.
        size: bytes, unpacked.
        named: the file was given explicitly, so a problem with it is an error; others are skipped and noted.
    """

    name: str
    format: str
    size: int
    path: Path
    named: bool = True
    archive: zipfile.ZipFile | None = field(default=None, repr=False)
    member: zipfile.ZipInfo | None = field(default=None, repr=False)

    def open(self, meter: Meter | None = None) -> io.BufferedReader:
        """A buffered stream of the bytes, counted by `meter`."""
        raw: IO[bytes] = (
            self.archive.open(self.member) if self.archive and self.member else self.path.open("rb", buffering=0)
        )
        return io.BufferedReader(MeteredStream(raw, meter, self.name), buffer_size=1 << 18)


def find_sources(
    paths: Sequence[str | Path] | str | Path, notes: ReadingNotes, max_bytes: float = MAX_BYTES, kinds: Kinds = TEXTS
) -> list[Source]:
    """The readable files of `paths`, in the order given; those of folders, zips and patterns sorted by name.

    A file that is given more than once, by its name and in a folder, is read once and noted.
    In a pattern ("books/*.txt", "texts/**") * is any characters, ? is one, and ** is folders at any depth.

    Raises:
        InputError: a path is missing, unreadable, empty, too large, an invalid or encrypted zip or a zip bomb, or a
            folder, zip or pattern has nothing readable. Sizes are those of the file system and the zip's directory:
            no text is read.
    """
    if isinstance(paths, (str, Path)):
        paths = [paths]
    if not paths:
        raise InputError(f"No file was given; choose {kinds.readable}.")
    search = _Search(notes, max_bytes, kinds)
    sources = each_once([source for path in paths for source in search.path(path)], notes)
    total = sum(source.size for source in sources)
    if total > max_bytes:
        close_archives(sources)
        raise InputError(
            f"The files hold {megabytes(total)} of text together, more than {megabytes(max_bytes)}; take fewer of them."
        )
    return sources


def each_once(sources: Iterable[Source], notes: ReadingNotes) -> list[Source]:
    """The sources without those that came before, which are noted: no text may be on both sides of a split."""
    known: dict[tuple[str, int | None], Source] = {}
    repeated = []
    for source in sources:
        place = os.path.realpath(source.path), source.member.header_offset if source.member else None
        if known.setdefault(place, source) is not source:
            repeated.append(source)
            notes.skipped.append(given_twice(source.name))
    close_archives(repeated)
    return list(known.values())


def given_twice(name: str) -> str:
    """The sentence on a text that is named again."""
    return f"{quoted(name)} is given more than once and counts once."


def close_archives(sources: Iterable[Source]) -> None:
    """Close the zips that sources are members of."""
    for archive in {id(s.archive): s.archive for s in sources if s.archive is not None}.values():
        archive.close()


@dataclass(frozen=True)
class _Search:
    """A search for sources with given options."""

    notes: ReadingNotes
    max_bytes: float
    kinds: Kinds

    def path(self, entry: str | Path) -> Sequence[Source]:
        if not str(entry):
            raise InputError(f"A name is empty; give {self.kinds.readable}.")
        path = Path(entry)
        if glob.has_magic(str(entry)) and not os.path.exists(path):
            return self._pattern(str(entry))
        mode, size = _status(path)
        if stat.S_ISDIR(mode):
            return self._folder(path)
        if not stat.S_ISREG(mode):
            raise InputError(f"{quoted(path.name or str(path))} is not a regular file; give {self.kinds.readable}.")
        return self._file(path, path.name, size, named=True)

    def _pattern(self, pattern: str) -> list[Source]:
        paths = sorted(path for path in glob.glob(pattern, recursive=True) if os.path.isfile(path))
        if not paths:
            raise InputError(f"No file is named like the pattern {quoted(pattern)}; check the name and the folder.")
        files = ((path, path.as_posix()) for path in map(Path, paths))
        return self._readable(files, f"No file like {quoted(pattern)} is readable; give")

    def _folder(self, folder: Path) -> list[Source]:
        """Files with a known suffix below `folder` at any depth, without hidden ones and links to folders."""
        paths = []
        for parent, folders, names in os.walk(folder, onerror=self._note_folder):
            folders[:] = sorted(f for f in folders if not f.startswith("."))
            paths += [Path(parent, name) for name in sorted(names) if not name.startswith(".")]
        known = {*self.kinds.formats, ".zip"}
        files = ((path, path.relative_to(folder).as_posix()) for path in paths if path.suffix.lower() in known)
        name = quoted(folder.name or str(folder))
        return self._readable(files, f"The folder {name} holds nothing readable; put in it")

    def _note_folder(self, error: OSError) -> None:
        self.notes.skipped.append(
            f"The folder {quoted(str(error.filename))} cannot be opened ({_reason(error)}); check its permissions."
        )

    def _readable(self, files: Iterable[tuple[Path, str]], message: str) -> list[Source]:
        """The sources of files with their names; a file that cannot be read is noted. `message` begins the error."""
        sources: list[Source] = []
        for path, name in files:
            try:
                mode, size = _status(path)
                if stat.S_ISREG(mode):
                    sources += self._file(path, name, size, named=False)
            except InputError as error:
                self.notes.skipped.append(str(error))
        if not sources:
            reason = f" First reason: {self.notes.skipped[0]}" if self.notes.skipped else ""
            raise InputError(f"{message} {self.kinds.readable}.{reason}")
        return sources

    def _file(self, path: Path, name: str, size: int, *, named: bool) -> list[Source]:
        if size == 0:
            raise InputError(f"{quoted(name)} is empty; choose a file with text in it.")
        try:
            with path.open("rb") as file:
                head = file.read(4)
        except OSError as error:
            raise InputError(f"{quoted(name)} cannot be opened ({_reason(error)}); check its permissions.") from None
        suffix = path.suffix.lower()
        if head[:4] == b"PK\x03\x04" or suffix == ".zip":  # its size is checked unpacked
            return self._zip(path, name)
        if size > self.max_bytes:
            raise InputError(
                f"{quoted(name)} is {megabytes(size)} large, more than {megabytes(self.max_bytes)}; "
                "split it, or take a part of it."
            )
        return [Source(printable(name), self.kinds.formats.get(suffix, "text"), size, path, named=named)]

    def _zip(self, path: Path, name: str) -> list[Source]:
        try:
            archive = zipfile.ZipFile(path)
        except (zipfile.BadZipFile, NotImplementedError, OSError, ValueError, EOFError):
            raise InputError(
                f"{quoted(name)} is not a valid zip file; make it again, or give the text files themselves."
            ) from None
        try:
            return self._members(archive, path, name)
        except BaseException:
            archive.close()
            raise

    def _members(self, archive: zipfile.ZipFile, path: Path, name: str) -> list[Source]:
        zip_name, formats = quoted(name), self.kinds.formats
        infos = archive.infolist()
        if len(infos) > _MAX_MEMBERS:
            raise InputError(f"{zip_name} holds {len(infos):,} files, more than {_MAX_MEMBERS:,}; take fewer.")
        document = container_kind({info.filename for info in infos})
        if document:
            ending = ".csv" if "Excel" in document else ".txt"
            raise InputError(f"{zip_name} is {document}; open it and save it as plain text ({ending}).")
        sources = []
        for info in sorted(infos, key=lambda info: info.filename):
            parts = info.filename.replace("\\", "/").split("/")
            if info.is_dir() or any(part.startswith((".", "__MACOSX")) and part not in ("..", ".") for part in parts):
                continue
            member = printable(f"{name}/" + "/".join(part for part in parts if part not in ("", ".", "..")))
            suffix = Path(parts[-1]).suffix.lower()
            if suffix == ".zip":
                self.notes.skipped.append(f"{quoted(member)} is a zip inside a zip and was not opened.")
            elif info.file_size == 0 and suffix in formats:
                self.notes.skipped.append(f"{quoted(member)} is empty and was left out.")
            elif suffix in formats and not stat.S_ISLNK(info.external_attr >> 16):
                if info.flag_bits & 1:
                    raise InputError(f"{zip_name} is protected by a password; make a zip without one.")
                sources.append(Source(member, formats[suffix], info.file_size, path, False, archive, info))
        if not sources:
            raise InputError(f"{zip_name} holds nothing readable; put in it {self.kinds.readable}.")
        total, packed = sum(source.size for source in sources), path.stat().st_size
        if total > self.max_bytes:
            raise InputError(
                f"{zip_name} unpacks to {megabytes(total)}, more than {megabytes(self.max_bytes)}; take a part of it."
            )
        if total > _HARMLESS_BYTES and total > MAX_INFLATION * packed:
            raise InputError(
                f"{zip_name} would unpack to {total // max(packed, 1):,} times its size, as a zip bomb does; "
                "give the text files themselves."
            )
        return sources


def _status(path: Path) -> tuple[int, int]:
    """Mode and size of a file."""
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


def _reason(error: Exception) -> str:
    return (error.strerror or "unreadable") if isinstance(error, OSError) else "it has characters no name may have"
