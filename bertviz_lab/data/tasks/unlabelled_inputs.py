"""Texts without labels, out of a file: what a fine-tuned model is asked about many of at once."""

import io
import math
from collections.abc import Sequence
from pathlib import Path

from bertviz_lab.data.corpora.encodings import recognise
from bertviz_lab.data.corpora.file_names import quoted
from bertviz_lab.data.corpora.formats.tables import whole_lines
from bertviz_lab.data.corpora.reading_notes import ReadingNotes
from bertviz_lab.data.corpora.sources import close_archives, find_sources
from bertviz_lab.data.tasks.examples import Example, LabelledText, LabelledWords, Question, Task
from bertviz_lab.data.tasks.reading.columns import Profile, by_column, find_column, split_header, text_columns
from bertviz_lab.data.tasks.reading.load_files import read_parts
from bertviz_lab.data.tasks.reading.raw_data import Ledger, Questions, Sentences, Sheet
from bertviz_lab.data.tasks.reading.read_options import Wishes
from bertviz_lab.errors import InputError

#: Texts that are read of one file.
MOST = 100_000


def read_inputs(
    path: str | Path,
    task: Task,
    *,
    text_a: str = "",
    text_b: str = "",
    ledger: Ledger | None = None,
    most: int = MOST,
    longest: float = math.inf,
) -> tuple[Example, ...]:
    """The texts of a file as examples without labels: "" for texts, 0.0 for numbers, "O" for words, no answers.

    A .txt file has a text a line. Of a table the columns are guessed as for labelled examples, or named; labels that
    are there are passed over. For `tokens` a text is cut into words at its blanks; for `qa` the file is SQuAD, or a
    table with questions and passages. `ledger` hears of rows that have no such text. Raises `InputError` where there
    are none at all, or more than `most`, or one of more than `longest` characters.
    """
    ledger = ledger or Ledger()
    found: list[Example]
    if Path(path).suffix.lower() in (".txt", ".text"):
        found = [LabelledText(line, None, "", row) for row, line in _lines(path)]
    else:
        parts = read_parts([path], Wishes(text_a=text_a, text_b=text_b, max_examples=most), ledger)
        found = [example for part in parts for example in _of_part(part, text_a, text_b, ledger)]
    if len(found) > most:
        raise InputError(f"The file has {len(found):,} texts, and {most:,} are taken at once: give a part of it.")
    examples = []
    for example in found:
        asked = _as_asked(example, task)
        if asked is None:
            ledger.drop("there is no text, or no passage beside the question", Path(path).name, "row", example.row)
        elif _length(asked) > longest:
            raise InputError(f"Row {asked.row:,} has more than {longest:,} characters: shorten it.")
        else:
            examples.append(asked)
    if not examples:
        what = {"qa": "questions with their passages"}.get(task, "texts")
        raise InputError(f"{quoted(Path(path).name)} holds no {what}; give a file with a text a line, or a table.")
    return tuple(examples)


def _lines(path: str | Path) -> list[tuple[int, str]]:
    (source, *_) = sources = find_sources(path, ReadingNotes())
    try:
        with io.TextIOWrapper(source.open(), encoding=recognise(source), errors="replace") as stream:
            return [
                (row, text) for row, line in enumerate(whole_lines(stream, source.name), 1) if (text := line.strip())
            ]
    finally:
        close_archives(sources)


def _length(example: Example) -> int:
    if isinstance(example, LabelledWords):
        return sum(map(len, example.words))
    if isinstance(example, Question):
        return len(example.question) + len(example.passage)
    return len(example.text_a) + len(example.text_b or "")


def _of_part(part: Sheet | Sentences | Questions, text_a: str, text_b: str, ledger: Ledger) -> Sequence[Example]:
    if isinstance(part, Questions):
        return part.questions
    if isinstance(part, Sentences):
        rows = zip(part.words, part.labels, part.rows, strict=True)
        return [LabelledWords(words, labels, row) for words, labels, row in rows]
    split_header(part, Wishes(text_a=text_a, text_b=text_b))
    first, second = (find_column(part, text_a), None) if text_a else _guess(part)
    second = find_column(part, text_b) if text_b and text_b != "none" else second if text_b != "none" else None
    found = []
    for number, row in zip(part.numbers, part.rows, strict=True):
        if len(row) > max(first, second or 0) and row[first].strip():
            found.append(LabelledText(row[first], row[second] if second is not None else None, "", number))
        else:
            ledger.drop("the text is empty", part.name, part.unit, number)
    return found


def _guess(sheet: Sheet) -> tuple[int, int | None]:
    names = [name.lower() for name in sheet.names or []]
    return text_columns(sheet, names, [Profile.of(column) for column in by_column(sheet)], set())


def _as_asked(example: Example, task: Task) -> Example | None:
    """An example as the model is asked it; None where it has not what the task needs."""
    if task == "qa":
        if isinstance(example, LabelledText) and example.text_b:
            return Question(str(example.row), example.text_a, example.text_b, (), example.row)
        return example if isinstance(example, Question) else None
    if isinstance(example, Question):
        return None
    if task == "tokens":
        if isinstance(example, LabelledWords):
            return example
        words = tuple(example.text_a.split())
        return LabelledWords(words, ("O",) * len(words), example.row) if words else None
    if isinstance(example, LabelledWords):
        example = LabelledText(" ".join(example.words), None, "", example.row)
    return LabelledText(example.text_a, example.text_b, 0.0 if task == "regression" else "", example.row)
