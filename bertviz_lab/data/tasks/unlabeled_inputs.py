"""The inputs in a file, labelled or not, as examples to predict on."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from bertviz_lab.data.corpora.reading_notes import ReadingNotes, quoted
from bertviz_lab.data.corpora.sources import close_archives, find_sources, reading_errors
from bertviz_lab.data.corpora.streams import suffix_of
from bertviz_lab.data.examples import (
    Example,
    FileInfo,
    Label,
    LabelledText,
    LabelledWords,
    Question,
    RelatedTexts,
    Task,
    TaskData,
)
from bertviz_lab.data.formats.column_profile import Profile
from bertviz_lab.data.formats.columns import split_header, text_columns
from bertviz_lab.data.formats.labels import ClassCells, NumberCells
from bertviz_lab.data.formats.raw import (
    NO_TEXT,
    DropReport,
    RawData,
    RawFile,
    RawQuestions,
    RawSentences,
    ReadOptions,
    open_text,
)
from bertviz_lab.data.formats.registry import load_raw_data
from bertviz_lab.data.formats.tables import even_rows, join_nested_texts
from bertviz_lab.errors import InputError

#: Inputs that are read from one file at most.
MAX_INPUTS = 100_000
_NO_LABELS: dict[Task, Label] = {"regression": 0.0, "multilabel": ()}


def read_inputs(
    path: str | Path, task: Task, *, max_inputs: int = MAX_INPUTS, max_characters: float = math.inf, **reading: str
) -> TaskData:
    """Read the inputs in a file as examples with empty labels: "" for a class, () for several, 0.0 for numbers, "O" for
    words, no answers.

    A .txt file (.md and .log, too) has a text a line, unless columns or a delimiter are given. The columns of a table
    are inferred as for task data, or given, and rows of another width are repaired as there; its labels are ignored,
    as are answers, which questions need not have. For `tokens` a text is split into words at
    white space; for `qa` the file is SQuAD, or a table with questions and passages.

    Args:
        path: the file.
        task: what the examples are for.
        max_inputs: inputs allowed in the file.
        max_characters: characters allowed in one input.
        reading: how it is to be read: columns, delimiter, encoding ..., as in `ReadOptions`.

    Raises:
        InputError: the file cannot be read, has no inputs, or exceeds a limit.
    """
    options = ReadOptions(max_examples=max_inputs, labelled=False, **reading)  # type: ignore[arg-type]  # of texts
    report = DropReport(options.given)
    read: list[Example] = []
    files: list[FileInfo] = []
    name, second = Path(path).name, "" if options.text_b == NO_TEXT else options.text_b
    has_columns = options.text_a or second or options.delimiter or options.header == "yes"
    if suffix_of(path) in (".txt", ".text", ".md", ".log") and not has_columns:
        lines = _lines(path, options, report)
        read += [LabelledText(line, None, "", row) for row, line in lines]
        if sum("\t" in line for _, line in lines) > 0.9 * len(lines):
            report.note(f"A tab in each line of {quoted(name)} was read as text: give --delimiter tab to read columns.")
        files.append(FileInfo(name, "text"))
    else:
        for raw in load_raw_data([path], options, report, wanted="test"):
            info, examples = _examples(raw, options, report)
            files.append(info)
            read += examples
    if len(read) > max_inputs:
        raise InputError(f"The file has {len(read):,} texts, and {max_inputs:,} are taken at once: give a part of it.")
    inputs: list[Example] = []
    for example in read:
        task_input = _input_for(task, example)
        if task_input is None:
            file = RawFile(FileInfo(name, ""))
            report.drop("there is no text, or no passage with the question", file, example.row)
        elif sum(len(text or "") for text in task_input.inputs) > max_characters:
            raise InputError(f"Row {example.row:,} has more than {max_characters:,} characters: shorten it.")
        else:
            inputs.append(task_input)
    if not inputs:
        nothing = "no questions with their passages; give both as --text-a and --text-b, or SQuAD's JSON format"
        other = "no texts; give a file with a text a line, or a table"
        raise InputError(f"{quoted(name)} holds {nothing if task == 'qa' else other}.")
    return report.data(task, inputs, tuple(files))


def _lines(path: str | Path, options: ReadOptions, report: DropReport) -> list[tuple[int, str]]:
    (source, *_) = sources = find_sources(path, ReadingNotes())
    try:
        with reading_errors(source):
            file = open_text(source, options)
            with file.lines(None, report) as lines:
                texts = [(row, line.strip()) for row, line in enumerate(lines, 1)]
        last = max((row for row, text in texts if text), default=0)
        for row, text in texts:
            if not text and row < last:  # others end the file
                report.drop("the text is empty", RawFile(FileInfo(source.name, "text"), "line"), row)
        return [(row, text) for row, text in texts if text]
    finally:
        close_archives(sources)


def _examples(raw: RawData, options: ReadOptions, report: DropReport) -> tuple[FileInfo, Sequence[Example]]:
    if isinstance(raw, RawQuestions):
        return raw.info, raw.questions
    if isinstance(raw, RawSentences):
        return raw.info, raw.sentences
    split_header(raw, options, report)
    join_nested_texts(raw, report)
    profiles = [Profile.of(column) for column in raw.columns]
    first, second, _ = raw.given(options)
    if first is None:
        first, pair = text_columns(raw, profiles, set(), report)
        second = second if options.text_b else pair
    names = raw.column_names
    labels: dict[int, ClassCells] = {}  # of all columns, to see where they stand: nothing else is done with them
    for column, profile in enumerate(profiles):
        if profile.is_label and column not in (first, second):
            counts = Counter(profile.values)
            labels[column] = (NumberCells if NumberCells.claims(counts, names[column]) else ClassCells).of(counts)

    def fits(row: list[str]) -> bool:
        known = [cells.is_known(row[column]) for column, cells in labels.items() if column < len(row)]
        # Without labels nothing tells which text of a pair the surplus cells are of.
        return all(known) if known else second is None or len(row) < raw.width

    examples = []
    for number, row in even_rows(raw, (first, second), fits, report):
        if row[first].strip():
            examples.append(LabelledText(row[first], row[second] if second is not None else None, "", number))
        else:
            report.drop("the text is empty", raw, number)
    info = replace(raw.info, text_a=names[first], text_b="" if second is None else names[second])
    return info, examples


def _input_for(task: Task, example: Example) -> Example | None:
    """Return an example as an input of the task, without its label; None where it lacks what the task needs."""
    if task == "qa":
        if isinstance(example, LabelledText) and example.text_b:
            return Question(str(example.row), example.text_a, example.text_b, (), example.row)
        return replace(example, answers=()) if isinstance(example, Question) else None
    if isinstance(example, (Question, RelatedTexts)):
        return None
    if task == "tokens":
        words = example.words if isinstance(example, LabelledWords) else tuple(example.text_a.split())
        return LabelledWords(words, ("O",) * len(words), example.row) if words else None
    if isinstance(example, LabelledWords):
        example = LabelledText(" ".join(example.words), None, "", example.row)
    return LabelledText(example.text_a, example.text_b, _NO_LABELS.get(task, ""), example.row)
