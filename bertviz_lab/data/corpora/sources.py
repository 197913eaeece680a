"""Resolve paths, patterns, folders and zips to readable sources, checked before any is read.

Zips are never unpacked to disk: members are streamed, so their paths cannot escape.
"""

import glob
import io
import lzma
import os
import stat
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bertviz_lab.data.corpora.reading_notes import ReadingNotes, printable, quoted
from bertviz_lab.data.corpora.streams import Meter, MeteredStream, megabytes, refuse_bomb, suffix_of, unpacker
from bertviz_lab.errors import InputError

_CONTAINERS = (
    ("word/document.xml", "a Word document"),
    ("xl/workbook.xml", "an Excel workbook"),
    ("ppt/presentation.xml", "a PowerPoint presentation"),
    ("META-INF/container.xml", "an e-book (EPUB)"),
    ("content.xml", "an OpenDocument file"),
    ("META-INF/MANIFEST.MF", "a Java archive"),
)
#: Maximum total size of uploaded text, unpacked. Local files have no limit.
MAX_BYTES = 500_000_000
_MAX_MEMBERS = 100_000

FORMATS = {
    **dict.fromkeys((".txt", ".text"), "text"),
    **dict.fromkeys((".md", ".markdown"), "markdown"),
    **dict.fromkeys((".csv", ".tsv"), "table"),
    **dict.fromkeys((".jsonl", ".ndjson"), "jsonl"),
    ".json": "json",
    ".ipynb": "notebook",
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
    """One readable text: a file, or a member of a zip."""

    name: str  # for display; members are "archive.zip/member"
    format: str  # one of the values of `FORMATS`
    size: int  # bytes, unpacked
    path: Path
    named: bool = True  # the file was given explicitly, so a problem with it is an error; others are skipped and noted
    archive: zipfile.ZipFile | None = field(default=None, repr=False)
    member: zipfile.ZipInfo | None = field(default=None, repr=False)

    def open(self, meter: Meter | None = None) -> io.BufferedReader:
        """Return a buffered stream of the bytes, unpacked and counted by `meter`."""
        raw = self.archive.open(self.member) if self.archive and self.member else self.path.open("rb")
        return io.BufferedReader(MeteredStream(raw, meter, self.name, self.size), buffer_size=1 << 18)

    def random_access(self, meter: Meter) -> Path | io.BytesIO:
        """Return the path of the file; for a packed one its bytes, unpacked."""
        if self.archive is None:
            with self.path.open("rb") as file:
                if not unpacker(file.peek(10)):
                    return self.path
        with self.open(meter) as stream:
            return io.BytesIO(stream.read())


@contextmanager
def reading_errors(source: Source) -> Iterator[None]:
    """Raise `InputError` for what goes wrong while a source is read."""
    try:
        yield
    except Exception as error:  # not `GeneratorExit`: when Python exits, the names of other errors are gone
        in_zip = source.archive is not None
        if isinstance(error, OSError) and error.errno:
            what = f"could not be read ({error.strerror}); try again"
        elif isinstance(error, (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError)) or (
            in_zip and isinstance(error, RuntimeError)  # such as `NotImplementedError`, for a compression
        ):
            what = f"is damaged{' inside its zip; make the zip' if in_zip else '; pack it'} again"
        else:
            raise
        raise InputError(f"{quoted(source.name)} {what}.") from error


def find_sources(
    paths: Sequence[str | Path] | str | Path, notes: ReadingNotes, max_bytes: float = MAX_BYTES, kinds: Kinds = TEXTS
) -> list[Source]:
    """Return the readable files of `paths`, in the order given; those of folders, zips and patterns sorted by name.

    A file that is given more than once, by its name and in a folder, is read once and noted.
    In a pattern ("books/*.txt", "texts/**") * is any characters, ? is one, and ** is folders at any depth.

    Raises `InputError` where a path is missing, unreadable, empty, too large, an invalid or encrypted zip or a zip
    bomb, or a folder, zip or pattern has nothing readable. Sizes are those of the file system and of a zip's directory:
    no text is read.
    """
    if isinstance(paths, (str, Path)):
        paths = [paths]
    if not paths:
        raise InputError(f"No file was given; choose {kinds.readable}.")
    search = _Search(notes, max_bytes, kinds)
    sources = each_once([source for path in paths for source in search.path(path)], notes)
    total_size(sources, max_bytes)
    return sources


def total_size(sources: Sequence[Source], max_bytes: float) -> int:
    """Return the bytes of all sources. Raises `InputError` where they are too many."""
    total = sum(source.size for source in sources)
    if total > max_bytes:
        close_archives(sources)
        raise InputError(f"The files hold {megabytes(total)} together, more than {megabytes(max_bytes)}; take fewer.")
    return total


def each_once(sources: Iterable[Source], notes: ReadingNotes) -> list[Source]:
    """Drop sources that an earlier split already has, and note them: no text may be in two splits."""
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
    """Return the sentence on a text that is named again."""
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
            paths = sorted(path for path in glob.glob(str(entry), recursive=True) if os.path.isfile(path))
            if not paths:
                what = f"No file is named like the pattern {quoted(str(entry))}"
                raise InputError(f"{what}; check the name and the folder.")
            files = ((path, path.as_posix()) for path in map(Path, paths))
            return self._readable(files, f"No file like {quoted(str(entry))} is readable; give")
        status = _status(path)
        if stat.S_ISDIR(status.st_mode):
            return self._folder(path)
        if not stat.S_ISREG(status.st_mode):
            raise InputError(f"{quoted(path.name or str(path))} is not a regular file; give {self.kinds.readable}.")
        return self._file(path, path.name, status.st_size, named=True)

    def _folder(self, folder: Path) -> list[Source]:
        """Return files with a known suffix below `folder` at any depth, without hidden ones and links to folders."""
        paths = []
        for parent, folders, names in os.walk(folder, onerror=self._note_folder):
            folders[:] = sorted(f for f in folders if not f.startswith("."))
            paths += [Path(parent, name) for name in sorted(names) if not name.startswith(".")]
        known = {*self.kinds.formats, ".zip"}
        files = ((path, path.relative_to(folder).as_posix()) for path in paths if suffix_of(path) in known)
        name = quoted(folder.name or str(folder))
        return self._readable(files, f"The folder {name} holds nothing readable; put in it")

    def _note_folder(self, error: OSError) -> None:
        self.notes.skipped.append(
            f"The folder {quoted(str(error.filename))} cannot be opened ({_reason(error)}); check its permissions."
        )

    def _readable(self, files: Iterable[tuple[Path, str]], message: str) -> list[Source]:
        """Return the sources of files and their names; one that cannot be read is noted. `message` begins the error."""
        sources: list[Source] = []
        for path, name in files:
            try:
                status = _status(path)
                if stat.S_ISREG(status.st_mode):
                    sources += self._file(path, name, status.st_size, named=False)
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
        suffix = suffix_of(path)
        file_format = self.kinds.formats.get(suffix, "text")
        if suffix == ".zip" or (head == b"PK\x03\x04" and file_format != "workbook"):  # its size is checked unpacked
            return self._zip(path, name)
        if size > self.max_bytes:
            raise InputError(
                f"{quoted(name)} is {megabytes(size)} large, more than {megabytes(self.max_bytes)}; "
                "split it, or take a part of it."
            )
        return [Source(printable(name), file_format, size, path, named=named)]

    def _zip(self, path: Path, name: str) -> list[Source]:
        try:
            archive = zipfile.ZipFile(path)
        except (zipfile.BadZipFile, NotImplementedError, OSError, ValueError, EOFError):
            what = "is not a valid zip file; make it again, or give the text files themselves."
            raise InputError(f"{quoted(name)} {what}") from None
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
        names = {info.filename for info in infos}
        document = next((what for member, what in _CONTAINERS if member in names), "")
        if any(name.endswith("/data.pkl") for name in names):
            document = "a PyTorch file"
        if document:
            ending = ".csv" if "Excel" in document else ".txt"
            raise InputError(f"{zip_name} is {document}; open it and save it as plain text ({ending}).")
        sources = []
        for info in sorted(infos, key=lambda info: info.filename):
            parts = info.filename.replace("\\", "/").split("/")
            if info.is_dir() or any(part.startswith((".", "__MACOSX")) and part not in ("..", ".") for part in parts):
                continue
            member = printable(f"{name}/" + "/".join(part for part in parts if part not in ("", ".", "..")))
            suffix = suffix_of(parts[-1])
            if suffix == ".zip":
                self.notes.skipped.append(f"{quoted(member)} is a zip inside a zip and was not opened.")
            elif info.file_size == 0 and suffix in formats:
                self.notes.skipped.append(f"{quoted(member)} is empty and was left out.")
            elif suffix in formats and not stat.S_ISLNK(info.external_attr >> 16):
                if info.flag_bits & 1:
                    raise InputError(f"{zip_name} is protected by a password; make a zip without one.")
                sources.append(Source(member, formats[suffix], info.file_size, path, False, archive, info))
        if not sources:
            reason = f" First reason: {self.notes.skipped[-1]}" if self.notes.skipped else ""
            raise InputError(f"{zip_name} holds nothing readable; put in it {self.kinds.readable}.{reason}")
        refuse_bomb(name, sum(source.size for source in sources), path.stat().st_size, self.max_bytes)
        return sources


def _status(path: Path) -> os.stat_result:
    try:
        return path.stat()
    except FileNotFoundError:
        raise InputError(f"There is no file {quoted(str(path))}; check the name and the folder.") from None
    except PermissionError:
        raise InputError(
            f"{quoted(path.name or str(path))} may not be read by this user; change its permissions."
        ) from None
    except (OSError, ValueError) as error:
        raise InputError(f"{quoted(str(path))} cannot be a file name ({_reason(error)}); check it.") from None


def _reason(error: Exception) -> str:
    return (error.strerror or "unreadable") if isinstance(error, OSError) else "it has characters no name may have"
