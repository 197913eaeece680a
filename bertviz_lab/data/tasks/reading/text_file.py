"""One file as lines of text: its encoding recognised or given, opened as often as is needed."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice

from bertviz_lab.data.corpora.encodings import recognise
from bertviz_lab.data.corpora.file_names import quoted
from bertviz_lab.data.corpora.file_signatures import binary_kind
from bertviz_lab.data.corpora.formats.tables import whole_lines
from bertviz_lab.data.corpora.reading_notes import FileNotes
from bertviz_lab.data.corpora.sources import Meter, Source
from bertviz_lab.data.tasks.reading.raw_data import Ledger, counted
from bertviz_lab.data.tasks.reading.read_options import Wishes
from bertviz_lab.errors import InputError

SAMPLE_LINES, _SAMPLE_CHARACTERS = 500, 1 << 20
#: Lines among which a first quotation mark is looked for.
_QUOTES_WITHIN = 200_000


@dataclass
class TextFile:
    """A source, and what is known of it as text.

    Attributes:
        source: the file.
        encoding: as Python names it.
        meter: counts what is read in full.
        notes: lines with characters that could not be read, null characters.
    """

    source: Source
    encoding: str
    meter: Meter
    notes: FileNotes = field(init=False)

    def __post_init__(self) -> None:
        self.notes = FileNotes(self.source.name, self.encoding)

    @property
    def name(self) -> str:
        return self.source.name

    @contextmanager
    def text(self, newline: str | None = "", *, counted: bool = True) -> Iterator[io.TextIOWrapper]:
        """The whole text as a stream; `newline` as for `open`."""
        binary = self.source.open(self.meter if counted else None)
        with io.TextIOWrapper(binary, encoding=self.encoding, errors="replace", newline=newline) as stream:
            yield stream

    @contextmanager
    def lines(self, newline: str | None = "", *, counted: bool = True) -> Iterator[Iterator[str]]:
        """Its lines with their ends, null characters taken out (and noted where the reading counts)."""
        with self.text(newline, counted=counted) as stream:
            yield self._watched(stream) if counted else whole_lines(stream, self.name)

    def _watched(self, stream: io.TextIOWrapper) -> Iterator[str]:
        for line in whole_lines(stream, self.name, self.notes):
            if "\ufffd" in line:
                self.notes.replaced += 1
            yield line

    def sample(self) -> list[str]:
        """The first lines."""
        with self.lines(counted=False) as lines:
            return _some(lines)

    def sample_with_quotes(self) -> list[str]:
        """The first lines and, where none has a quotation mark, some from the first one with a mark on."""
        with self.lines(counted=False) as lines:
            sample = _some(lines)
            if not any('"' in line for line in sample):
                for line in islice(lines, _QUOTES_WITHIN):
                    if '"' in line:
                        sample += [line, *_some(lines)]
                        break
        return sample

    def tell(self, ledger: Ledger) -> None:
        """Note what was lost on the way from bytes to characters."""
        if self.notes.nulls:
            nulls = counted(self.notes.nulls, "null character was", "null characters were")
            ledger.note(f"{nulls} taken out of {quoted(self.name)}.")
        if self.notes.replaced:
            ledger.note(
                f"{counted(self.notes.replaced, 'line', 'lines')} of {quoted(self.name)} could not be wholly read as "
                f"{self.encoding}; give the encoding if characters look wrong."
            )


def _some(lines: Iterator[str]) -> list[str]:
    sample, characters = [], 0
    for line in islice(lines, SAMPLE_LINES):
        sample.append(line)
        characters += len(line)
        if characters > _SAMPLE_CHARACTERS:
            break
    return sample


def open_text(source: Source, meter: Meter, wishes: Wishes) -> TextFile:
    """The file as text. Raises `InputError` for one that is none."""
    if not wishes.encoding:
        return TextFile(source, recognise(source), meter)
    with source.open() as stream:
        kind = binary_kind(stream.read(4096))
    if kind:
        raise InputError(f"{quoted(source.name)} is {kind[0]}, not text; {kind[1]}.")
    encoding = wishes.encoding
    # A byte-order mark is no part of the first cell, whoever named the encoding.
    return TextFile(source, "utf-8-sig" if encoding.lower().replace("_", "-") in ("utf-8", "utf8") else encoding, meter)
