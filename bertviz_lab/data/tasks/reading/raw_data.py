"""What a file holds before its columns are interpreted, and the report of what was dropped or repaired on the way."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from bertviz_lab.data.corpora.file_names import quoted
from bertviz_lab.data.tasks.examples import Dropped, Question, Reading

#: Rows that a preview shows.
PREVIEW = 8


@dataclass
class Sheet:
    """Rows of cells, all of them text.

    Attributes:
        reading: what was recognised so far; the columns and what they mean come later.
        unit: what a row is called in messages.
        rows: the cells, header aside where `names` are known.
        numbers: of the rows in their file, from 1.
        width: cells in most of the rows.
        names: of the columns, where the format says them; None where a first row may.
        extend: cells over are part of the text, which held the delimiter.
    """

    reading: Reading
    unit: str
    rows: list[list[str]]
    numbers: Sequence[int]
    width: int
    names: list[str] | None = None
    extend: str = ""

    @property
    def name(self) -> str:
        return self.reading.name

    def labels_of(self, column: int) -> str:
        """A column as messages name it."""
        named = self.names[column] if self.names and column < len(self.names) else ""
        return f"column {quoted(named)}" if named else f"column {column + 1}"


@dataclass
class Sentences:
    """Sentences with a label a word, as they stand in the file.

    Attributes:
        reading: how they were read.
        unit: what `rows` count.
        words, labels: of each sentence, as many of one as of the other.
        rows: where each sentence begins.
    """

    reading: Reading
    unit: str
    words: list[tuple[str, ...]] = field(default_factory=list)
    labels: list[tuple[str, ...]] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)


@dataclass
class Questions:
    """Questions about passages."""

    reading: Reading
    questions: list[Question] = field(default_factory=list)


Part = Sheet | Sentences | Questions
KINDS = {Sheet: "texts with a label each", Sentences: "words with a label each", Questions: "questions about passages"}


def preview(rows: Sequence[Sequence[str]]) -> tuple[tuple[str, ...], ...]:
    """The first rows, for a `Reading`."""
    return tuple(tuple(row) for row in rows[:PREVIEW])


#: Places that are named for one reason.
PLACES = 5


def place(name: str, unit: str, row: int) -> str:
    """A row as messages name it: '"reviews.csv" row 17'."""
    return f"{quoted(name)} {unit} {row:,}"


def listed(names: list[str], most: int = 10) -> str:
    """Names in quotation marks, with commas; of many, the first."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(map(quoted, names[:most])) + more


def counted(number: int, one: str, many: str) -> str:
    """ "1 line", "1,200 lines"."""
    return f"{number:,} {one if number == 1 else many}"


class Ledger:
    """Filled while files are read. Every row that gives no example is in `dropped`, every repair in `notes`."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self._counts: Counter[str] = Counter()
        self._places: dict[str, list[str]] = {}

    def drop(self, reason: str, name: str, unit: str, row: int) -> None:
        """One row gives no example, for this reason."""
        self._counts[reason] += 1
        where = self._places.setdefault(reason, [])
        if len(where) < PLACES:
            where.append(place(name, unit, row))

    def note(self, sentence: str) -> None:
        """A sentence for the person, once."""
        if sentence not in self.notes:
            self.notes.append(sentence)

    @property
    def dropped(self) -> tuple[Dropped, ...]:
        return tuple(Dropped(reason, n, tuple(self._places[reason])) for reason, n in self._counts.items())

    @property
    def dropped_rows(self) -> int:
        return sum(self._counts.values())


class Repairs:
    """Counts one kind of repair in one file, and remembers the first row of it."""

    def __init__(self, name: str, unit: str) -> None:
        self.name, self.unit = name, unit
        self.count, self.first = 0, 0

    def add(self, row: int) -> None:
        self.count += 1
        self.first = self.first or row

    def tell(self, ledger: Ledger, one: str, many: str) -> None:
        """Note `one` or `many` with the count in front and the first place behind, if there was any."""
        if self.count:
            what = counted(self.count, one, many)
            ledger.note(f"{what} (first: {place(self.name, self.unit, self.first)}).")
