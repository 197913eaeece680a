"""How files are to be read, what a file holds before its columns are interpreted, and the report of dropped rows."""

import codecs
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bertviz_lab.data.corpora.reading_notes import quoted
from bertviz_lab.data.corpora.sources import MAX_BYTES
from bertviz_lab.data.examples import TASKS, Doubt, Dropped, FileInfo, LabelledWords, Question
from bertviz_lab.errors import InputError

#: Examples read from one file at most, so that no file fills the memory.
MAX_EXAMPLES = 1_000_000
#: As `text_b`: there is no second text.
NO_TEXT = "none"
_DELIMITERS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "blank": " ", "space": " "}
_CHOICES = ("auto", "yes", "no")


@dataclass(frozen=True)
class ReadOptions:
    """Options of `read_task`; "" and "auto" are inferred.

    Attributes:
        task: one of `TASKS`, or "auto": labels with decimals are regression targets, a few distinct values are classes,
            lists of them several labels.
        text_a: the column with the text (or the words), by its name or its number from 1.
        text_b: the column with the second text of a pair; "none" for single texts.
        label: the column with the label; for CoNLL-U also "xpos", "deprel" ...
        delimiter: between cells: a character, or "tab", "comma" ...
        quoting: "yes" or "no": whether quotation marks enclose cells.
        header: "yes" or "no": whether the first row names the columns.
        encoding: of the text, as Python names it.
        max_bytes: unpacked size allowed over all files.
        max_examples: examples allowed in a file.

    Raises:
        InputError: an option has a value that it cannot have.
    """

    task: str = "auto"
    text_a: str = ""
    text_b: str = ""
    label: str = ""
    delimiter: str = ""
    quoting: str = "auto"
    header: str = "auto"
    encoding: str = ""
    max_bytes: float = MAX_BYTES
    max_examples: int = MAX_EXAMPLES

    def __post_init__(self) -> None:
        if self.task not in ("auto", *TASKS):
            raise InputError(f"There is no task {quoted(self.task)}; choose auto, {', '.join(TASKS)}.")
        for option, value in (("header", self.header), ("quoting", self.quoting)):
            if value not in _CHOICES:
                raise InputError(f"The {option} can be {', '.join(_CHOICES)}, not {quoted(value)}.")
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
        if self.max_examples < 1:
            raise InputError("At least one example has to be read; give a larger limit, or none.")

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
_MAX_LOCATIONS = 5  # that are named for one reason


@dataclass
class RawTable:
    """Rows of cells, all of them text.

    Attributes:
        info: what is known of the file so far; its columns are found later.
        unit: what a row is called in messages: "row", "line" or "record".
        rows: the cells, without the header where `names` are known.
        numbers: of the rows in their file, from 1.
        width: cells in most of the rows.
        names: of the columns; None until it is known whether the first row is a header.
        delimiter: that a text with surplus cells was split at; "" where cells cannot be split.
        class_names: column -> its classes in their order, where the file declares them, as Parquet of the hub does.
    """

    info: FileInfo
    unit: str
    rows: list[list[str]]
    numbers: Sequence[int]
    width: int
    names: list[str] | None = None
    delimiter: str = ""
    class_names: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def file_name(self) -> str:
        return self.info.name

    @property
    def column_names(self) -> tuple[str, ...]:
        """What the columns can be called: by their names, and by their numbers where they have none."""
        return tuple(
            self.names[c] if self.names and c < len(self.names) and self.names[c] else str(c + 1)
            for c in range(self.width)
        )

    @property
    def columns(self) -> list[list[str]]:
        """The cells of each column, over the rows of `width` cells."""
        complete = [row for row in self.rows if len(row) == self.width]
        return [list(column) for column in zip(*complete, strict=True)] or [[] for _ in range(self.width)]

    def describe_column(self, column: int) -> str:
        """A column as messages name it."""
        name = self.names[column] if self.names and column < len(self.names) else ""
        return f"column {quoted(name)}" if name else f"column {column + 1}"


@dataclass
class RawSentences:
    """Sentences with a label a word, in the scheme of the file; `unit` is what their rows count: "line" or "record"."""

    info: FileInfo
    unit: str
    sentences: list[LabelledWords] = field(default_factory=list)


@dataclass
class RawQuestions:
    """Questions about passages."""

    info: FileInfo
    questions: list[Question] = field(default_factory=list)


RawData = RawTable | RawSentences | RawQuestions


def preview(rows: Sequence[Sequence[str]]) -> tuple[tuple[str, ...], ...]:
    """The first rows, for a `FileInfo`; cells of a thousand characters at most."""
    return tuple(tuple(cell[:_PREVIEW_CHARACTERS] for cell in row) for row in rows[:_PREVIEW_ROWS])


def row_location(file_name: str, unit: str, row: int) -> str:
    """A row as messages name it: '"reviews.csv" row 17'."""
    return f"{quoted(file_name)} {unit} {row:,}"


def quoted_list(names: Sequence[str], limit: int = 10) -> str:
    """Names in quotation marks, separated by commas, `limit` of them at most."""
    more = f" and {len(names) - limit:,} more" if len(names) > limit else ""
    return ", ".join(map(quoted, names[:limit])) + more


def column_index(name: str, names: Sequence[str], file_name: str) -> int:
    """The column of this name (case aside), or of this number from 1. Raises `InputError` where there is none."""
    for candidates, candidate in ((list(names), name), ([n.lower() for n in names], name.strip().lower())):
        if candidate in candidates:
            return candidates.index(candidate)
    if name.isdigit() and 1 <= int(name) <= len(names):
        return int(name) - 1
    raise InputError(f"{quoted(file_name)} has no column {quoted(name)}; it has {quoted_list(names, 20)}.")


def pluralized(count: int, singular: str, plural: str) -> str:
    """ "1 line", "1,200 lines"."""
    return f"{count:,} {singular if count == 1 else plural}"


class DropReport:
    """Rows that gave no example, by reason, and notes on what was repaired; filled while files are read."""

    def __init__(self) -> None:
        self._notes: dict[str, None] = {}
        self._doubts: dict[Doubt, None] = {}
        self._repairs: Counter[tuple[str, str, str]] = Counter()  # by what was repaired, and the file
        self._repaired_at: dict[tuple[str, str, str], list[str]] = {}
        self._counts: Counter[str] = Counter()
        self._locations: dict[str, list[str]] = {}

    def drop(self, reason: str, file_name: str, unit: str, row: int) -> None:
        """Count a row that gives no example, for this reason."""
        self._counts[reason] += 1
        locations = self._locations.setdefault(reason, [])
        if len(locations) < _MAX_LOCATIONS:
            locations.append(row_location(file_name, unit, row))

    def note(self, sentence: str) -> None:
        """Add a sentence, unless it is there already."""
        self._notes[sentence] = None

    def doubt(self, sentence: str, *options: str) -> None:
        """Add a note on a reading that a person should confirm by one of these options."""
        self._doubts[Doubt(sentence, options)] = None
        self.note(sentence)

    @property
    def doubts(self) -> tuple[Doubt, ...]:
        """What a person should confirm."""
        return tuple(self._doubts)

    def repair(self, singular: str, plural: str, file_name: str, unit: str, row: int, count: int = 1) -> None:
        """Count what was repaired in a row; the note on it names the first row of the file."""
        what = singular, plural, file_name
        self._repairs[what] += count
        places = self._repaired_at.setdefault(what, [])
        if len(places) < _MAX_LOCATIONS:
            places.append(row_location(file_name, unit, row))

    @property
    def repaired(self) -> tuple[Dropped, ...]:
        """What was repaired, with how often and where first."""
        return tuple(
            Dropped(what[0] if n == 1 else what[1], n, tuple(self._repaired_at[what]))
            for what, n in self._repairs.items()
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """All notes, those on repairs last."""
        return (*self._notes, *(f"{r.count:,} {r.reason} (first: {r.where[0]})." for r in self.repaired))

    @property
    def dropped(self) -> tuple[Dropped, ...]:
        return tuple(Dropped(reason, n, tuple(self._locations[reason])) for reason, n in self._counts.items())

    @property
    def remarks(self) -> tuple[str, ...]:
        """The notes, and a sentence for each reason why rows were left out."""
        return (*self.notes, *(dropped.sentence for dropped in self.dropped))

    @property
    def dropped_rows(self) -> int:
        return sum(self._counts.values())
