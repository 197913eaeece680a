"""The first rows of a file of labelled examples, and what each column was taken for."""

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

from bertviz_lab.figures.payload import Payload, message_payload, to_json

_ROWS, _WORDS, _CHARACTERS = 8, 60, 300  # what is sent of a file; the page cuts further
_DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars", " ": "spaces"}
_FORMATS = {
    "table": "a table",
    "label-text": "label-text lines",
    "jsonl": "lines of JSON",
    "json": "JSON",
    "parquet": "a Parquet table",
    "conll": "words with their labels, one per line",
    "conllu": "words with their labels, one per line (CoNLL-U)",
    "squad": "questions about passages (SQuAD)",
    "dataset": "a data set from the Hugging Face Hub",
}


class ReadingLike(Protocol):
    """How a file was read; columns are named by their header or by "1", "2" ..., "" where there is none such."""

    @property
    def name(self) -> str: ...
    @property
    def format(self) -> str: ...
    @property
    def encoding(self) -> str: ...
    @property
    def delimiter(self) -> str: ...
    @property
    def header(self) -> bool: ...
    @property
    def columns(self) -> Sequence[str]: ...
    @property
    def text_a(self) -> str: ...
    @property
    def text_b(self) -> str: ...
    @property
    def label(self) -> str: ...
    @property
    def rows(self) -> Sequence[Sequence[str]]: ...


@runtime_checkable
class WordsLike(Protocol):
    """A sentence with a label a word."""

    @property
    def words(self) -> Sequence[str]: ...
    @property
    def labels(self) -> Sequence[str]: ...


@runtime_checkable
class QuestionLike(Protocol):
    """A question about a passage; `answers` have a `text`."""

    @property
    def question(self) -> str: ...
    @property
    def passage(self) -> str: ...
    @property
    def answers(self) -> Sequence[Any]: ...


def preview_payload(reading: ReadingLike, examples: Sequence[Any] = (), *, sentence: str = "") -> Payload:
    """The payload of the preview: the raw rows; sentences with their labels, or questions, where `examples` are such.

    Words (with `words` and `labels`) and questions (with `question`, `passage` and `answers`) are told by what they
    have. `sentence` replaces the one that says how the file was read.
    """
    names = [str(name) for name in reading.columns] or [
        str(n + 1) for n in range(max(map(len, reading.rows), default=0))
    ]
    columns = [{"name": name, "role": _role(reading, name)} for name in names]
    body: dict[str, Any] = {"title": reading.name, "sentence": sentence or _how_read(reading), "columns": columns}
    shown = list(examples[:_ROWS])
    if shown and isinstance(shown[0], WordsLike):
        lines = [[list(pair) for pair in zip(one.words[:_WORDS], one.labels, strict=False)] for one in shown]
        return to_json(body | {"kind": "words", "sentences": lines})
    if shown and isinstance(shown[0], QuestionLike):
        rows = [[_cut(one.passage), _cut(one.question), _answers(one)] for one in shown]
        roles = [("passage", "b"), ("question", "a"), ("answer", "label")]
        return to_json(
            body | {"kind": "questions", "columns": [{"name": n, "role": role} for n, role in roles], "rows": rows}
        )
    if not reading.rows:
        return message_payload(f"{reading.name} has no rows to show.")
    rows = [[_cut(str(cell)) for cell in row] for row in reading.rows[:_ROWS]]
    return to_json(body | {"kind": "table", "rows": rows})


def _role(reading: ReadingLike, name: str) -> str:
    """What a column is: "a", "b", "label", or "" for one that is not used."""
    roles = {reading.label: "label", reading.text_b: "b", reading.text_a: "a"}
    return roles.get(name, "") if name else ""


def _how_read(reading: ReadingLike) -> str:
    parts = [f"Read as {_FORMATS.get(reading.format, reading.format)}"]
    if reading.format == "table" and reading.delimiter:
        parts[0] += f" with {_DELIMITERS.get(reading.delimiter, repr(reading.delimiter))} as delimiter"
    if reading.format == "table":
        parts.append("with a header row" if reading.header else "no header row")
    if reading.encoding:
        parts.append(f"encoding {reading.encoding}")
    return ", ".join(parts) + "."


def _answers(question: QuestionLike) -> str:
    return "; ".join(dict.fromkeys(_cut(answer.text) for answer in question.answers)) or "(not in the passage)"


def _cut(text: str) -> str:
    return text if len(text) <= _CHARACTERS else f"{text[:_CHARACTERS]}…"
