"""How files are to be read, what a file holds before its columns are interpreted, and the report of dropped rows.

`TextFile` is one file as lines of text: its encoding detected or given, opened as often as is needed.
"""

import codecs
import io
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import compress, islice
from typing import Any

from bertviz_lab.config.finetune import TASKS
from bertviz_lab.data.corpora.encodings import recognize
from bertviz_lab.data.corpora.formats.tables import whole_lines
from bertviz_lab.data.corpora.formats.text import column_title, sample_lines
from bertviz_lab.data.corpora.reading_notes import inflected, pluralized, quoted, quoted_list
from bertviz_lab.data.corpora.sources import MAX_BYTES, Source
from bertviz_lab.data.corpora.streams import Meter, refuse_binary
from bertviz_lab.data.examples import Doubt, Dropped, Example, FileInfo, LabelledWords, Question, Task, TaskData
from bertviz_lab.errors import InputError

#: As `text_b`: there is no second text.
NO_TEXT = "none"
_DELIMITERS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "blank": " ", "space": " "}


@dataclass(frozen=True)
class ReadOptions:
    """Options of `read_task`; "" and "auto" are inferred. Raises `InputError` for a value that cannot be."""

    # one of `TASKS`, or "auto": labels with decimals are regression targets, a few distinct values are classes, lists
    # of them several labels
    task: str = "auto"
    text_a: str = ""  # the column with the text (or the words), by its name or its number from 1
    text_b: str = ""  # the column with the second text of a pair; "none" for single texts
    label: str = ""  # the column with the label; for CoNLL-U also "xpos", "deprel" ...
    delimiter: str = ""  # between cells: a character, or "tab", "comma" ...
    quoting: str = "auto"  # "yes" or "no": whether quotation marks enclose cells
    header: str = "auto"  # "yes" or "no": whether the first row names the columns
    encoding: str = ""  # of the text, as Python names it
    labelled: bool = True  # False for inputs to predict on, of which questions need no answers
    sheet: str = ""  # of a workbook, by its name or its number from 1
    max_bytes: float = MAX_BYTES  # unpacked size allowed over all files
    max_examples: int = 1_000_000  # allowed in a file, so that no file fills the memory

    def __post_init__(self) -> None:
        if self.task not in ("auto", *TASKS):
            raise InputError(f"There is no task {quoted(self.task)}; choose auto, {', '.join(TASKS)}.")
        for option, value in (("header", self.header), ("quoting", self.quoting)):
            if value not in ("auto", "yes", "no"):
                raise InputError(f"The {option} can be auto, yes, no, not {quoted(value)}.")
        delimiter = _DELIMITERS.get(self.delimiter.lower(), self.delimiter)
        if len(delimiter) > 1 or delimiter in ("\n", "\r", '"'):
            raise InputError(f"The delimiter is one character (or tab, comma, semicolon), not {quoted(delimiter)}.")
        object.__setattr__(self, "delimiter", delimiter)
        if self.encoding:
            try:
                codecs.lookup(self.encoding)
                "".encode(self.encoding)  # refuses codecs that do not encode text
                rb"\ud800+2AA-".decode(self.encoding, "replace").encode()  # and bytes that decode to no text
            except (LookupError, ValueError):
                raise InputError(
                    f"There is no encoding {quoted(self.encoding)}; give one such as utf-8 or cp1252, or none."
                ) from None

    @property
    def given(self) -> tuple[str, ...]:
        """The options that were given, not inferred."""
        return tuple(name for name, value in vars(self).items() if isinstance(value, str) and value not in ("", "auto"))

    def check_count(self, count: int, file_name: str) -> None:
        """Raises `InputError` where a file has more than `max_examples`."""
        if count > self.max_examples:
            raise InputError(
                f"{quoted(file_name)} holds more than {self.max_examples:,} examples; take a part of it, or allow more."
            )


#: Columns of a table or fields of records at most, so that a small file does not take minutes.
MAX_COLUMNS = 1_000
_PREVIEW_ROWS, _PREVIEW_CHARACTERS = 8, 1_000


@dataclass
class RawFile:
    """What is known of a file; `unit` is what its rows are called in messages: "row", "line" or "record"."""

    info: FileInfo
    unit: str = "row"

    @property
    def name(self) -> str:
        return self.info.name

    @property
    def column_names(self) -> tuple[str, ...]:
        """What the columns can be called: by their names, and by their numbers where they have none."""
        return self.info.columns

    def at(self, row: int) -> str:
        """Return a row as messages name it: '"reviews.csv" row 17'."""
        return f"{quoted(self.name)} {self.unit} {row:,}"

    def column(self, name: str) -> int:
        """Return the column of this name (case aside), or of this number from 1. Raises `InputError` for others."""
        names = self.column_names
        for candidates, candidate in ((list(names), name), ([n.lower() for n in names], column_title(name).lower())):
            if candidate in candidates:
                return candidates.index(candidate)
        if name.isdigit() and 1 <= int(name) <= len(names):
            return int(name) - 1
        raise InputError(f"{quoted(self.name)} has no column {quoted(name)}; it has {quoted_list(names, 20)}.")


@dataclass
class RawTable(RawFile):
    """Rows of cells, all of them text; the columns in `info` are found later."""

    rows: list[list[str]] = field(default_factory=list)  # the cells, without the header where `names` are known
    numbers: Sequence[int] = ()  # of the rows in their file, from 1
    width: int = 1  # cells in most of the rows
    names: list[str] | None = None  # of the columns; None until it is known whether the first row is a header
    delimiter: str = ""  # that a text with surplus cells was split at; "" where cells cannot be split
    # column -> its classes in their order, where the file declares them, as Parquet of the hub does
    class_names: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def column_names(self) -> tuple[str, ...]:
        first = {name: column for column, name in reversed(list(enumerate(self.names or []))) if name}
        named = {column: name for name, column in first.items()}  # a second column of one name has its number
        return tuple(named.get(column, str(column + 1)) for column in range(self.width))

    def given(self, options: ReadOptions) -> list[int | None]:
        """Return the columns of the text, the second text and the label that were given; None for the others.

        Raises `InputError` for one that is missing, or that was given twice.
        """
        second = "" if options.text_b == NO_TEXT else options.text_b
        columns = [self.column(name) if name else None for name in (options.text_a, second, options.label)]
        named = [column for column in columns if column is not None]
        if len(set(named)) < len(named):
            raise InputError(f"Texts and label of {quoted(self.name)} are to be different columns; name each once.")
        return columns

    @property
    def complete_rows(self) -> Iterator[tuple[int, list[str]]]:
        """The rows of `width` cells, with their numbers."""
        return (pair for pair in zip(self.numbers, self.rows, strict=True) if len(pair[1]) == self.width)

    @property
    def columns(self) -> list[list[str]]:
        """The cells of each column, over the rows of `width` cells."""
        complete = (row for _, row in self.complete_rows)
        return [list(column) for column in zip(*complete, strict=True)] or [[] for _ in range(self.width)]

    def leave_out(self, places: Collection[int], report: "DropReport | None" = None, what: str = "") -> None:
        """Take out the rows at these places, counted from 0; a report says so of each, see `DropReport.repair`."""
        if report:
            for place in places:
                report.repair(what, self, self.numbers[place])
        kept = [n not in places for n in range(len(self.rows))]
        self.rows, self.numbers = list(compress(self.rows, kept)), list(compress(self.numbers, kept))

    def describe_column(self, column: int, of_file: bool = False) -> str:
        """Return a column as messages name it, with the file's name where they do not give it otherwise."""
        name = self.column_names[column]
        named = name if name == str(column + 1) else quoted(name)
        return f"column {named}" + (f" of {quoted(self.name)}" if of_file else "")

    def info_with_columns(self, text_a: int, text_b: int | None, label: int | None) -> FileInfo:
        """Return how the table was read, with the columns that are used."""
        names = self.column_names
        return replace(
            self.info,
            header=self.names is not None and self.info.format == "table",
            columns=names,
            text_a=names[text_a],
            text_b="" if text_b is None else names[text_b],
            label="" if label is None else names[label],
            rows=tuple(tuple(cell[:_PREVIEW_CHARACTERS] for cell in row) for row in self.rows[:_PREVIEW_ROWS]),
        )


@dataclass
class RawSentences(RawFile):
    """Sentences with a label a word, in the scheme of the file."""

    sentences: list[LabelledWords] = field(default_factory=list)

    def add(self, words: Sequence[Any], labels: Sequence[str], row: int, report: "DropReport") -> None:
        """Add a sentence, or count in the report why it cannot be used."""
        if len(words) != len(labels):
            report.drop("it has not as many labels as words", self, row)
        elif not all(labels) or not all(isinstance(word, str) and word.strip() for word in words):
            report.drop("a word or its label is missing", self, row)
        else:
            self.sentences.append(LabelledWords(tuple(words), tuple(labels), row))


@dataclass
class RawQuestions(RawFile):
    """Questions about passages."""

    questions: list[Question] = field(default_factory=list)


RawData = RawTable | RawSentences | RawQuestions


class DropReport:
    """Rows that gave no example, by reason, and notes on what was repaired; filled while files are read."""

    def __init__(self, given: tuple[str, ...] = ()) -> None:
        self._given = given  # the options that were given
        self._notes: dict[str, None] = {}
        self._doubts: dict[Doubt, None] = {}
        self._dropped: dict[tuple[str, str], Dropped] = {}
        self._repaired: dict[tuple[str, str], Dropped] = {}  # by what was repaired, and the file

    def drop(self, reason: str, file: RawFile, row: int) -> None:
        """Count a row that gives no example, for this reason."""
        _count(self._dropped, (reason, ""), file.at(row))

    def repair(self, what: str, file: RawFile, row: int, count: int = 1) -> None:
        """Count what was repaired in a row of a file, in words with forms for one and for several, see `inflected`."""
        _count(self._repaired, (what, file.name), file.at(row), count)

    def note(self, sentence: str) -> None:
        """Add a sentence, unless it is there already."""
        self._notes[sentence] = None

    def doubt(self, sentence: str, *options: str) -> None:
        """Add a note on a reading that a person should confirm by one of these options."""
        self._doubts[Doubt(sentence, options)] = None
        self.note(sentence)

    def data(self, task: Task, examples: Sequence[Example], files: tuple[FileInfo, ...]) -> TaskData:
        """Return examples with what was noted."""
        repaired = tuple(replace(r, reason=inflected(r.count, r.reason)) for r in self._repaired.values())
        notes, doubts = tuple(self._notes), tuple(self._doubts)
        return TaskData(task, tuple(examples), (), files, self.dropped, notes, repaired, doubts, self._given)

    @property
    def dropped(self) -> tuple[Dropped, ...]:
        return tuple(self._dropped.values())


def _count(counted: dict[tuple[str, str], Dropped], what: tuple[str, str], where: str, count: int = 1) -> None:
    before = counted.get(what, Dropped("", 0, ()))
    counted[what] = Dropped(what[0], before.count + count, (*before.where, where)[:5])


@dataclass(frozen=True)
class TextFile:
    """A source as text: its encoding as Python names it, and a meter of what is read in full."""

    source: Source
    encoding: str
    meter: Meter

    @property
    def name(self) -> str:
        return self.source.name

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
    def lines(self, newline: str | None = "", report: "DropReport | None" = None) -> Iterator[Iterator[str]]:
        """Its lines with their ends, without null characters; with a report metered, and what was lost is noted."""
        lost: Counter[str] = Counter()
        with self.text(newline, metered=report is not None) as stream:
            yield whole_lines(stream, self.name, lost)
        if report is None:
            return
        for what in ("null character", "byte-order mark"):
            if lost[what]:
                report.note(f"{pluralized(lost[what], f'{what}<s> <was|were>')} taken out of {quoted(self.name)}.")
        if lost["line"]:
            report.note(
                f"{pluralized(lost['line'], 'line<s>')} of {quoted(self.name)} could not be wholly read as "
                f"{self.encoding}; give the encoding if characters look wrong."
            )

    def sample(self) -> list[str]:
        """Return the first lines."""
        with self.lines() as lines:
            return sample_lines(lines)

    def sample_with_quotes(self) -> list[str]:
        """Return the first lines and, where none has a quotation mark, some from the first one that has."""
        with self.lines() as lines:
            sample = sample_lines(lines)
            for mark in ('"', '\\"'):  # a quotation mark, and one that is escaped
                if not any(mark in line for line in sample):
                    for line in islice(lines, 200_000):
                        if mark in line:
                            sample += [line, *sample_lines(lines)]
                            break
        return sample


def open_text(source: Source, options: ReadOptions, meter: Meter | None = None) -> TextFile:
    """Return the file as text. Raises `InputError` for one that is not text."""
    meter = meter or Meter()
    if not options.encoding:
        return TextFile(source, recognize(source), meter)
    with source.open() as stream:
        refuse_binary(source.name, stream.read(4096))
    # A byte-order mark is not part of the first cell, even where the encoding is given.
    is_utf8 = options.encoding.lower().replace("_", "-") in ("utf-8", "utf8")
    return TextFile(source, "utf-8-sig" if is_utf8 else options.encoding, meter)
