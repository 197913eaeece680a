"""Preview of a file of labelled examples: its first rows and the role of each column."""

from collections.abc import Sequence
from typing import Any

from bertviz_lab.data.tasks.examples import Example, FileInfo, LabelledWords, Question
from bertviz_lab.figures.payload import Payload, message_payload, to_json

_ROWS, _WORDS, _CHARACTERS = 8, 60, 300  # maximum that is sent; the page truncates further
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


def preview_payload(reading: FileInfo, examples: Sequence[Example] = ()) -> Payload:
    """The payload of the preview: raw rows, or for such `examples` sentences with their labels, or questions."""
    names = [str(name) for name in reading.columns] or [
        str(n + 1) for n in range(max(map(len, reading.rows), default=0))
    ]
    columns = [{"name": name, "role": _role(reading, name)} for name in names]
    body: dict[str, Any] = {"title": reading.name, "sentence": _how_read(reading), "columns": columns}
    sentences = [example for example in examples[:_ROWS] if isinstance(example, LabelledWords)]
    if sentences:
        lines = [
            [list(pair) for pair in zip(example.words[:_WORDS], example.labels, strict=False)] for example in sentences
        ]
        return to_json(body | {"kind": "words", "sentences": lines})
    questions = [example for example in examples[:_ROWS] if isinstance(example, Question)]
    if questions:
        rows = [[_cut(example.passage), _cut(example.question), _answers(example)] for example in questions]
        roles = [("passage", "b"), ("question", "a"), ("answer", "label")]
        return to_json(
            body | {"kind": "questions", "columns": [{"name": n, "role": role} for n, role in roles], "rows": rows}
        )
    if not reading.rows:
        return message_payload(f"{reading.name} has no rows to show.")
    rows = [[_cut(str(cell)) for cell in row] for row in reading.rows[:_ROWS]]
    return to_json(body | {"kind": "table", "rows": rows})


def _role(reading: FileInfo, name: str) -> str:
    """The role of a column: "a", "b", "label", or "" if unused."""
    roles = {reading.label: "label", reading.text_b: "b", reading.text_a: "a"}
    return roles.get(name, "") if name else ""


def _how_read(reading: FileInfo) -> str:
    parts = [f"Read as {_FORMATS.get(reading.format, reading.format)}"]
    if reading.format == "table" and reading.delimiter:
        parts[0] += f" with {_DELIMITERS.get(reading.delimiter, repr(reading.delimiter))} as delimiter"
    if reading.format == "table":
        parts.append("with a header row" if reading.header else "no header row")
    if reading.encoding:
        parts.append(f"encoding {reading.encoding}")
    return ", ".join(parts) + "."


def _answers(question: Question) -> str:
    return "; ".join(dict.fromkeys(_cut(answer.text) for answer in question.answers)) or "(not in the passage)"


def _cut(text: str) -> str:
    return text if len(text) <= _CHARACTERS else f"{text[:_CHARACTERS]}…"
