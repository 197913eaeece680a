"""Notes on how files were read, for the health report; names of files that are safe in a message."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

_MOST_DESCRIBED, _MOST_LEFT_OUT = 20, 3  # files that are named
_LONGEST_NAME = 120
_FORMS = re.compile(r"<(?:([^<>|]*)\|)?([^<>|]*)>")


@dataclass
class FileNotes:
    """How one file was read."""

    name: str  # path as given; in a zip, `archive.zip/inner/name.txt`
    encoding: str = ""  # the encoding it was decoded with
    layout: str = ""  # one sentence on the document boundaries
    markup: str = ""  # what was done with the markup of the text, in sentences
    blank_after_sentence: bool = False  # True where a blank line follows nearly every sentence
    blank_ends_document: bool = False  # True where a single blank line ends a document
    replaced: int = 0  # characters that could not be decoded, now U+FFFD
    skipped_rows: int = 0  # rows or records without text
    ragged_rows: int = 0  # rows of a table with more or fewer cells than the others


@dataclass
class ReadingNotes:
    """Filled while documents are read; complete after the last."""

    files: list[FileNotes] = field(default_factory=list)  # the files that were read, in order
    # files in a folder or zip that were left out, and files that are given again, each with the reason as a full
    # sentence
    skipped: list[str] = field(default_factory=list)
    sentences_cut: int = 0  # sentences that were too long and were split

    def descriptions(self) -> Iterator[str]:
        """Yield a sentence or two on how each of the first files was read."""
        for file in self.files[:_MOST_DESCRIBED]:
            yield f"{quoted(file.name)} was read as {file.encoding}. {file.markup} {file.layout}".replace("  ", " ")
        if len(self.files) > _MOST_DESCRIBED:
            yield f"{len(self.files) - _MOST_DESCRIBED:,} more files were read."

    def markup(self) -> Iterator[str]:
        """Yield a sentence on the markup of each of the first files that have some."""
        marked = [file for file in self.files if file.markup]
        yield from (f"{quoted(file.name)}: {file.markup}" for file in marked[:_MOST_LEFT_OUT])

    def left_out(self) -> Iterator[str]:
        """Yield a sentence on each of the first files that were left out."""
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


def quoted_list(names: Sequence[str], limit: int = 10) -> str:
    """Return names in quotation marks, separated by commas, `limit` of them at most."""
    more = f" and {len(names) - limit:,} more" if len(names) > limit else ""
    return ", ".join(map(quoted, names[:limit])) + more


def pluralized(count: int, text: str) -> str:
    """ "1 line was", "1,200 lines were", as `inflected` writes "line<s> <was|were>"."""
    return f"{count:,} {inflected(count, text)}"


def inflected(count: int, text: str) -> str:
    """Return a text for one, or for several: it has <both|forms> or an <s>. What is `quoted` has no such brackets."""
    return _FORMS.sub(lambda forms: (forms[1] or "") if count == 1 else forms[2], text)
