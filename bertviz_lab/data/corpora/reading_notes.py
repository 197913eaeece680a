"""Notes on how files were read, for the health report; names of files that are safe in a message."""

from collections.abc import Iterator
from dataclasses import dataclass, field

_MOST_DESCRIBED = 20  # files
_MOST_LEFT_OUT = 3  # that are named
_LONGEST_NAME = 120


@dataclass
class FileNotes:
    """How one file was read.

    Attributes:
        name: path as given; in a zip, `archive.zip/inner/name.txt`.
        encoding: the encoding it was decoded with.
        layout: one sentence on the document boundaries.
        markup: what was done with the markup of the text, in sentences.
        blank_after_sentence: True where a blank line follows nearly every sentence.
        blank_ends_document: True where a single blank line ends a document.
        replaced: characters that could not be decoded, now U+FFFD.
        nulls, marks: null characters and byte-order marks that were removed.
        skipped_rows: rows or records without text.
        ragged_rows: rows of a table with more or fewer cells than the others.
    """

    name: str
    encoding: str = ""
    layout: str = ""
    markup: str = ""
    blank_after_sentence: bool = False
    blank_ends_document: bool = False
    replaced: int = 0
    nulls: int = 0
    marks: int = 0
    skipped_rows: int = 0
    ragged_rows: int = 0


@dataclass
class ReadingNotes:
    """Filled while documents are read; complete after the last.

    Attributes:
        files: the files that were read, in order.
        skipped: files in a folder or zip that were left out, and files that are given again, each with the reason as
            a full sentence.
        sentences_cut: sentences that were too long and were split.
    """

    files: list[FileNotes] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    sentences_cut: int = 0

    def descriptions(self) -> Iterator[str]:
        """A sentence or two on how each of the first files was read."""
        for file in self.files[:_MOST_DESCRIBED]:
            yield f"{quoted(file.name)} was read as {file.encoding}. {file.layout}"
        if len(self.files) > _MOST_DESCRIBED:
            yield f"{len(self.files) - _MOST_DESCRIBED:,} more files were read."

    def markup(self) -> Iterator[str]:
        """A sentence on the markup of each of the first files that have some."""
        marked = [file for file in self.files if file.markup]
        yield from (f"{quoted(file.name)}: {file.markup}" for file in marked[:_MOST_LEFT_OUT])

    def left_out(self) -> Iterator[str]:
        """A sentence on each of the first files that were left out."""
        for reason in self.skipped[:_MOST_LEFT_OUT]:
            yield f"A file was left out: {reason}"
        if len(self.skipped) > _MOST_LEFT_OUT:
            yield f"{len(self.skipped) - _MOST_LEFT_OUT:,} more files were left out."


def printable(name: str) -> str:
    """`name` without characters that break a line or cannot be encoded; a long one is shortened in the middle."""
    if not name.isprintable():
        name = "".join(c if c.isprintable() else "\ufffd" for c in name)
    if len(name) > _LONGEST_NAME:
        keep = _LONGEST_NAME // 2
        name = f"{name[:keep]}…{name[-keep:]}"
    return name


def quoted(name: str) -> str:
    """`name` in quotation marks; angle brackets become ‹ and ›, so that it is never interpreted as markup."""
    return '"' + printable(name).replace("<", "\u2039").replace(">", "\u203a").replace('"', "'") + '"'
