"""Task examples: one class for each kind of label, the data set that files are read into, and its file in a run.

- `classification`: a text, or a pair of texts, with one of a few labels (`LabelledText`, its label a string).
- `multilabel`: a text, or a pair, with any number of labels (`LabelledText`, its label a tuple of strings).
- `regression`: a text, or a pair, with a number (`LabelledText`, its label a float).
- `tokens`: a sentence with a label for each word (`LabelledWords`).
- `qa`: a question, and a passage that contains its answer or does not (`Question`).
- `embeddings`: texts that belong together, with a score or with texts that do not belong to them (`RelatedTexts`).

Each example has `inputs`, the text or the pair that a model reads (None for no second text), and `classes`, those of a
text or of each word, or whether a question has an answer; none for numbers.
"""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import Any, cast

from bertviz_lab.config.finetune import Task

#: A class, any number of classes, or a number.
Label = str | tuple[str, ...] | float


@dataclass(frozen=True, slots=True)
class LabelledText:
    """A text, or a pair of texts, and its label."""

    text_a: str  # the text, or the first of the pair; never empty
    text_b: str | None  # the second text; None where there is one text only
    label: Label  # the class; for multi-label classification the classes, in order; for regression the number
    row: int  # 1-based number of the row, line or record in its file, as messages name it
    file: str = field(default="", compare=False)  # the name of that file; equal examples may be of two

    @property
    def inputs(self) -> tuple[str, str | None]:
        return self.text_a, self.text_b

    @property
    def classes(self) -> tuple[str, ...]:
        if isinstance(self.label, tuple):
            return self.label
        return (self.label,) if isinstance(self.label, str) else ()


@dataclass(frozen=True, slots=True)
class LabelledWords:
    """A sentence with a label a word."""

    words: tuple[str, ...]  # at least one, none of them empty
    # as many; in the BIO scheme (IOB2) where the file's labels mark spans, whatever scheme that had
    labels: tuple[str, ...]
    row: int  # 1-based number of the line or record at which the sentence begins
    file: str = field(default="", compare=False)  # the name of its file

    @property
    def inputs(self) -> tuple[str, str | None]:
        return " ".join(self.words), None

    @property
    def classes(self) -> tuple[str, ...]:
        return self.labels


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer as a span of the passage: `passage[start : start + len(text)] == text`."""

    text: str  # the words of the answer
    start: int  # offset of its first character in the passage, in characters


@dataclass(frozen=True, slots=True)
class Question:
    """A question about a passage."""

    id: str  # its name in its file, unique there
    question: str
    passage: str  # the text that holds the answer, or does not
    # what people marked, some several times; none where the passage does not answer the question
    answers: tuple[Answer, ...]
    row: int  # 1-based number of the question in its file
    title: str = ""  # of the article that the passage is from, where the file names one
    file: str = field(default="", compare=False)  # the name of its file

    @property
    def inputs(self) -> tuple[str, str | None]:
        return self.question, self.passage

    @property
    def classes(self) -> tuple[str, ...]:
        return ("answer" if self.answers else "no answer",)


@dataclass(frozen=True, slots=True)
class RelatedTexts:
    """Texts whose embeddings are to be near each other, or far apart."""

    anchor: str  # such as a question
    positive: str  # a text that belongs to it, such as its answer; with a score the other text of the pair
    # texts that do not belong to it; none with a score. As many in all examples of a data set.
    negatives: tuple[str, ...]
    score: float | None  # the cosine that the two are to have, as a rule between 0 and 1; None where nobody gave one
    row: int  # 1-based number of the row, line or record in its file, as messages name it
    file: str = field(default="", compare=False)  # the name of that file

    @property
    def texts(self) -> tuple[str, ...]:
        return (self.anchor, self.positive, *self.negatives)

    @property
    def inputs(self) -> tuple[str, str | None]:
        return self.anchor, self.positive

    @property
    def classes(self) -> tuple[str, ...]:
        return ()


Example = LabelledText | LabelledWords | Question | RelatedTexts


def class_counts(examples: Iterable[Example]) -> Counter[str]:
    """Return how often each class occurs in examples."""
    return Counter(chain.from_iterable(example.classes for example in examples))


#: Formats of files, for people.
FORMATS = {
    "text": "lines of text",
    "table": "a table",
    "label-text": "label-text lines",
    "class folders": "a text in each file, in a folder for each class",
    "jsonl": "lines of JSON",
    "json": "JSON",
    "parquet": "a Parquet table",
    "arrow": "an Arrow table",
    "workbook": "a sheet of a workbook",
    "conll": "words with their labels, one per line",
    "conllu": "words with their labels, one per line (CoNLL-U)",
    "tagged": "words with a tag at each",
    "rasa": "training data of Rasa",
    "brat": "texts with standoff annotations (brat)",
    "trees": "trees of labeled phrases",
    "squad": "questions about passages (SQuAD)",
    "dataset": "a data set from the Hugging Face Hub",
}


@dataclass(frozen=True)
class FileInfo:
    """How one file was read, by inference or as given. What does not apply is empty."""

    name: str  # of the file or data set, for people
    format: str  # one of `FORMATS`
    encoding: str = ""  # as Python names it
    delimiter: str = ""  # between the cells of a row
    header: bool = False  # whether the first row names the columns
    columns: tuple[str, ...] = ()  # their names; "1", "2" ... where none are given
    text_a: str = ""  # the column with the text, the words or the question
    text_b: str = ""  # the column with the second text or the passage
    label: str = ""  # the column with the label
    negatives: tuple[str, ...] = ()  # the columns of texts that do not belong to the others of their row
    scheme: str = ""  # of labels that mark spans: "IOB1", "BIO", "BIOES" or "BILOU"; "plain" for other labels of words
    rows: tuple[tuple[str, ...], ...] = ()  # the first few of a table as they are in the file, without the header


@dataclass(frozen=True)
class Dropped:
    """Rows that gave no example, for one reason; or what was repaired in some of one file."""

    reason: str  # what is wrong with them, as the end of "12 rows: ..."; or what was done, as that of "12 ..."
    count: int  # how many
    where: tuple[str, ...]  # the first few, as '"reviews.csv" row 17'

    @property
    def sentence(self) -> str:
        """For people: how many rows were left out, and why."""
        examples = f", such as {', '.join(self.where[:3])}" if self.where else ""
        return f"{self.count:,} {'row was' if self.count == 1 else 'rows were'} left out: {self.reason}{examples}."

    @property
    def sentence_of_repair(self) -> str:
        """For people: what was repaired, how often, and where first."""
        return f"{self.count:,} {self.reason} (first: {self.where[0]})."


@dataclass(frozen=True)
class Doubt:
    """What a person should confirm in a reading, and the reading options each of which decides it."""

    sentence: str
    options: tuple[str, ...]


@dataclass(frozen=True)
class TaskData:
    """The examples of one or several files."""

    task: Task  # what all of them are
    examples: tuple[Example, ...]  # in the order of the files and of their rows
    # the class names in order (as the file declares them, else numbers by size, others by alphabet); none for
    # regression and qa
    labels: tuple[str, ...] = ()
    files: tuple[FileInfo, ...] = ()  # how each file was read
    dropped: tuple[Dropped, ...] = ()  # the rows that were left out, by reason
    notes: tuple[str, ...] = ()  # how files were read, and what looks odd, a sentence each
    repaired: tuple[Dropped, ...] = ()
    doubts: tuple[Doubt, ...] = ()  # what a person should confirm; their sentences are in the notes
    given: tuple[str, ...] = ()  # the reading options that were given, which decide doubts

    @property
    def remarks(self) -> tuple[str, ...]:
        """The notes, and a sentence for each repair and for each reason why rows were left out."""
        repairs = (repaired.sentence_of_repair for repaired in self.repaired)
        return (*self.notes, *repairs, *(dropped.sentence for dropped in self.dropped))

    @property
    def dropped_rows(self) -> int:
        """Return the number of rows that were left out."""
        return sum(dropped.count for dropped in self.dropped)


_KINDS: dict[str, type] = {kind.__name__: kind for kind in (LabelledText, LabelledWords, Question, RelatedTexts)}


def write_examples(path: Path, examples: Sequence[Example]) -> None:
    """One JSON object a line; `"passage": null` stands for the passage of the line before, which questions share."""
    passage = None
    with path.open("w", encoding="utf-8", errors="surrogatepass") as file:
        for example in examples:
            body = {"kind": type(example).__name__, **asdict(example)}
            if isinstance(example, Question):
                body["passage"] = None if example.passage == passage else example.passage
                passage = example.passage
            file.write(json.dumps(body) + "\n")


def read_examples(path: Path, most: int | None = None) -> tuple[Example, ...]:
    """Return the examples that `write_examples` wrote, or the first `most` of them."""
    examples: list[Example] = []
    with path.open(encoding="utf-8") as file:
        for line in islice(file, most):
            body = json.loads(line)
            if "passage" in body and body["passage"] is None:
                body["passage"] = cast(Question, examples[-1]).passage
            if "answers" in body:
                body["answers"] = [Answer(**answer) for answer in body["answers"]]
            fields: dict[str, Any] = {
                name: tuple(value) if isinstance(value, list) else value for name, value in body.items()
            }
            examples.append(_KINDS[fields.pop("kind")](**fields))
    return tuple(examples)


def holds_examples(path: str | Path) -> bool:
    """Was a file written by `write_examples`?"""
    try:
        with Path(path).open(encoding="utf-8") as file:
            body = json.loads(file.readline(1_000_000))
    except (OSError, ValueError):
        return False
    return isinstance(body, dict) and body.get("kind") in _KINDS
