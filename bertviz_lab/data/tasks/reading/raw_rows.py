"""What a file holds before it is known what its columns mean: rows of cells, sentences of words, or questions."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from bertviz_lab.data.corpora.file_names import quoted
from bertviz_lab.data.tasks.examples import Question, Reading

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
