"""One file as lines of text: its encoding detected or given, opened as often as is needed."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice

from bertviz_lab.data.corpora.encodings import recognize
from bertviz_lab.data.corpora.formats.tables import whole_lines
from bertviz_lab.data.corpora.formats.text import sample_lines
from bertviz_lab.data.corpora.reading_notes import FileNotes, pluralized, quoted
from bertviz_lab.data.corpora.sources import Meter, Source, refuse_binary
from bertviz_lab.data.formats.raw import DropReport, ReadOptions
from bertviz_lab.errors import InputError


@dataclass
class TextFile:
    """A source as text: its encoding as Python names it, a meter of what is read in full, and notes on losses."""

    source: Source
    encoding: str
    meter: Meter

    def __post_init__(self) -> None:
        self.name = self.source.name
        self.notes = FileNotes(self.name, self.encoding)

    @contextmanager
    def text(self, newline: str | None = "", *, metered: bool = True) -> Iterator[io.TextIOWrapper]:
        """The whole text as a stream; `newline` as for `open`. Raises `InputError` if the encoding does not fit."""
        binary = self.source.open(self.meter if metered else None)
        with io.TextIOWrapper(binary, encoding=self.encoding, errors="replace", newline=newline) as stream:
            try:
                yield stream
            except UnicodeError:  # of one that was given, such as utf-16 without its mark
                what = f"The files are not in the encoding {quoted(self.encoding)}"
                raise InputError(f"{what}; leave it out to have it recognized.") from None

    @contextmanager
    def lines(self, newline: str | None = "", *, metered: bool = True) -> Iterator[Iterator[str]]:
        """Its lines with their ends, without null characters; what was lost is noted where the reading is metered."""
        with self.text(newline, metered=metered) as stream:
            yield whole_lines(stream, self.name, self.notes if metered else None)

    def sample(self) -> list[str]:
        """Return the first lines."""
        with self.lines(metered=False) as lines:
            return sample_lines(lines)

    def sample_with_quotes(self) -> list[str]:
        """Return the first lines and, where none has a quotation mark, some from the first one that has."""
        with self.lines(metered=False) as lines:
            sample = sample_lines(lines)
            for mark in ('"', '\\"'):  # a quotation mark, and one that is escaped
                if not any(mark in line for line in sample):
                    for line in islice(lines, 200_000):
                        if mark in line:
                            sample += [line, *sample_lines(lines)]
                            break
        return sample

    def note_losses(self, report: DropReport) -> None:
        """Note what was lost in decoding."""
        for count, what in ((self.notes.nulls, "null character"), (self.notes.marks, "byte-order mark")):
            if count:
                report.note(f"{pluralized(count, f'{what} was', f'{what}s were')} taken out of {quoted(self.name)}.")
        if self.notes.replaced:
            report.note(
                f"{pluralized(self.notes.replaced, 'line', 'lines')} of {quoted(self.name)} could not be wholly read "
                f"as {self.encoding}; give the encoding if characters look wrong."
            )


def open_text(source: Source, meter: Meter, options: ReadOptions) -> TextFile:
    """Return the file as text. Raises `InputError` for one that is not text."""
    if not options.encoding:
        return TextFile(source, recognize(source), meter)
    with source.open() as stream:
        refuse_binary(source.name, stream.read(4096))
    # A byte-order mark is not part of the first cell, even where the encoding is given.
    is_utf8 = options.encoding.lower().replace("_", "-") in ("utf-8", "utf8")
    return TextFile(source, "utf-8-sig" if is_utf8 else options.encoding, meter)
