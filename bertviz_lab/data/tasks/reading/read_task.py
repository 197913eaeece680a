"""Files in, labelled examples out: the format, the columns and the task are recognised, and each can be given.

Nothing is dropped in silence: a row that gives no example is counted with its reason and place, a repair is noted, and
what cannot be learnt from at all is an `InputError` that names the file, the row and the column.

    paths -> `opening` (files, formats) -> `tables` `records` `conll` `squad` (parts: rows, sentences, questions)
          -> `columns` `labels` `schemes` (what they mean, decided over all files) -> examples
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain, count
from pathlib import Path
from typing import TypedDict, Unpack, cast

from bertviz_lab.data.corpora.file_names import quoted
from bertviz_lab.data.corpora.sources import MAX_BYTES, OnProgress
from bertviz_lab.data.tasks.examples import Example, LabelledText, LabelledWords, Reading, Task, TaskData
from bertviz_lab.data.tasks.reading.columns import Columns, choose_columns, column_names, split_header
from bertviz_lab.data.tasks.reading.conll import PLAIN, scheme_of, to_bio
from bertviz_lab.data.tasks.reading.labels import MOST_CLASSES, are_amounts, check_classes, ordered, spellings
from bertviz_lab.data.tasks.reading.load_files import read_parts
from bertviz_lab.data.tasks.reading.raw_data import (
    KINDS,
    Ledger,
    Part,
    Questions,
    Repairs,
    Sentences,
    Sheet,
    counted,
    listed,
)
from bertviz_lab.data.tasks.reading.read_options import MAX_EXAMPLES, NO_TEXT, Wishes
from bertviz_lab.data.tasks.reading.squad import UNIT
from bertviz_lab.data.tasks.reading.tables import check_numbers, label_counts, reading_of, texts_of
from bertviz_lab.errors import InputError

__all__ = ["MAX_BYTES", "MAX_EXAMPLES", "NO_TEXT", "Reading", "check_held_out", "read_pair", "read_task"]

Paths = Sequence[str | Path] | str | Path


class ReadingOptions(TypedDict, total=False):
    """What a person can say about labelled files; what is not said, or "" or "auto", is recognised.

    Attributes:
        text_a: the column with the text (or with the words), by its name or its number from 1; "" guesses.
        text_b: the column with the second text of a pair; "none" for texts that are no pairs; "" guesses.
        label: the column with the label; for CoNLL-U also "xpos", "deprel" ...; "" guesses.
        delimiter: between cells: a character, or "tab", "comma" ...; "" guesses.
        quoting: "yes" or "no": whether quotation marks wrap cells; "auto" guesses.
        header: "yes" or "no": whether the first row names the columns; "auto" guesses.
        encoding: of the text, as Python names it; "" recognises it.
        max_bytes: size allowed, unpacked, over all files.
        max_examples: examples allowed in a file.
    """

    text_a: str
    text_b: str
    label: str
    delimiter: str
    quoting: str
    header: str
    encoding: str
    max_bytes: float
    max_examples: int


def read_task(
    paths: Paths,
    task: str = "auto",
    *,
    on_progress: OnProgress | None = None,
    **options: Unpack[ReadingOptions],
) -> TaskData:
    """The examples in some files, which are one set together.

    Args:
        paths: files of any of these formats, folders, zips and patterns of them: .csv and .tsv tables, lines that
            begin with a label ("0 How far is it?", "__label__spam You have won"), words and labels in columns (CoNLL),
            CoNLL-U, .json and .jsonl records, SQuAD, .parquet; and "dataset:NAME[:CONFIG][@SPLIT]" (`readers.hub`).
        task: one of `examples.TASKS`, or "auto": a number with decimals is predicted (regression), one of a few values
            is a class.
        options: how the files are read, see `ReadingOptions`; what is not given is recognised.
        on_progress: hears (bytes read, bytes in all).

    Raises:
        InputError: a file cannot be read, holds no examples, or has labels that nothing can be learnt from.
    """
    return _read([paths], Wishes(task, **options), on_progress)[0]


def read_pair(
    train: Paths,
    held_out: Paths,
    task: str = "auto",
    *,
    on_progress: OnProgress | None = None,
    **options: Unpack[ReadingOptions],
) -> tuple[TaskData, TaskData]:
    """The examples to train on and those held out, of one task and with the same labels; arguments as for `read_task`.

    The columns of the first are looked for in the second; whether labels are numbers or classes, and how they mark
    spans, is decided over both. A label that only the second has is in both label sets, and is noted.

    Raises:
        InputError: as `read_task`, and as `check_held_out`.
    """
    first, second = _read([train, held_out], Wishes(task, **options), on_progress)
    notes = check_held_out(first, second)
    return first, replace(second, notes=(*second.notes, *notes))


def check_held_out(train: TaskData, held: TaskData) -> tuple[str, ...]:
    """What is odd about examples held out for these to train on, as sentences.

    Raises:
        InputError: the tasks differ, one has pairs and the other has none, or most held-out labels are never trained.
    """
    if train.task != held.task:
        raise InputError(
            f"The examples to train on are for {train.task}, those held out for {held.task}; give two of one task."
        )
    pairs = [{example.text_b is not None for example in _texts(data)} for data in (train, held)]
    if all(pairs) and pairs[0] != pairs[1]:
        raise InputError(
            "Of the examples to train on and those held out, one has pairs of texts and the other has single texts; "
            "name the columns of both."
        )
    known = _labels_in(train.examples)
    counts = Counter(chain.from_iterable(map(_labels_of, held.examples)))
    unknown = sorted(label for label in counts if label not in known)
    if not unknown or train.task not in ("classification", "tokens"):
        return ()
    times = sum(counts[label] for label in unknown)
    if 2 * times > sum(counts.values()):
        raise InputError(
            f"Most held-out examples have labels that none to train on has ({listed(unknown)}, where training has "
            f"{listed(sorted(known))}); write the labels alike in both files."
        )
    what = f"the label {listed(unknown)}" if len(unknown) == 1 else f"the labels {listed(unknown)}"
    return (f"Only the held-out examples have {what} ({counted(times, 'time', 'times')}): it cannot be learnt.",)


def _texts(data: TaskData) -> list[LabelledText]:
    return [example for example in data.examples if isinstance(example, LabelledText)]


def _labels_of(example: Example) -> tuple[str, ...]:
    if isinstance(example, LabelledWords):
        return example.labels
    return (example.label,) if isinstance(example, LabelledText) and isinstance(example.label, str) else ()


def _labels_in(examples: Sequence[Example]) -> set[str]:
    return set(chain.from_iterable(map(_labels_of, examples)))


@dataclass
class _Side:
    """One set of files while it is read: to train on, or held out."""

    parts: list[Part]
    ledger: Ledger


def _read(paths: list[Paths], wishes: Wishes, on_progress: OnProgress | None) -> list[TaskData]:
    """The sets of examples; everything is decided over all of them, and the first is what is trained on."""
    sides = []
    for some in paths:
        ledger = Ledger()
        try:
            sides.append(_Side(read_parts(some, wishes, ledger, on_progress), ledger))
        except UnicodeError:  # an encoding such as utf-16 without its mark refuses, others put in signs of damage
            raise InputError(
                f"The files are not in the encoding {quoted(wishes.encoding)}; leave it out to have it recognised."
            ) from None
    parts = [part for side in sides for part in side.parts]
    kind = type(parts[0])
    for part in parts:
        if type(part) is not kind:
            raise InputError(
                f"{quoted(parts[0].reading.name)} holds {KINDS[kind]}, {quoted(part.reading.name)} "
                f"{KINDS[type(part)]}; give files of one kind."
            )
    wanted = {Sheet: ("classification", "regression"), Sentences: ("tokens",), Questions: ("qa",)}[kind]
    if wishes.task not in ("auto", *wanted):
        raise InputError(
            f"{quoted(parts[0].reading.name)} holds {KINDS[kind]}, which is {' or '.join(wanted)}, not {wishes.task}; "
            "choose that task, or another file."
        )
    if kind is Sheet:
        return _read_sheets(sides, wishes)
    return _read_sentences(sides) if kind is Sentences else [_questions(side) for side in sides]


def _read_sheets(sides: list[_Side], wishes: Wishes) -> list[TaskData]:
    sheets = [[cast(Sheet, part) for part in side.parts] for side in sides]
    chosen: list[list[Columns]] = []
    like: tuple[Sheet, Columns] | None = None
    counts: Counter[str] = Counter()
    for some in sheets:
        chosen.append([])
        for sheet in some:
            split_header(sheet, wishes)
            if not sheet.rows:
                raise InputError(f"{quoted(sheet.name)} has no rows below its header; choose a file with examples.")
            columns = choose_columns(sheet, wishes, like)
            like = like or (sheet, columns)
            chosen[-1].append(columns)
            counts.update(label_counts(sheet, columns))
    assert like is not None  # `read_parts` gives a part at least
    first, label = like[0], like[1].label
    amounts = wishes.task == "regression" or (wishes.task == "auto" and are_amounts(counts, column_names(first)[label]))
    if amounts:
        for some, several in zip(sheets, chosen, strict=True):
            for sheet, columns in zip(some, several, strict=True):
                check_numbers(sheet, columns)
    classes = None if amounts else spellings(counts)
    results = []
    for side, some, several in zip(sides, sheets, chosen, strict=True):
        examples: list[Example] = []
        readings = []
        for sheet, columns in zip(some, several, strict=True):
            examples += texts_of(sheet, columns, classes, side.ledger)
            readings.append(reading_of(sheet, columns))
        results.append(_data("regression" if amounts else "classification", examples, (), tuple(readings), side.ledger))
    return results if amounts else _with_classes(results, first, label)


def _with_classes(results: list[TaskData], first: Sheet, label: int) -> list[TaskData]:
    """The label set of all, and what is odd about the classes of those to train on."""
    train = Counter(example.label for example in _texts(results[0]))
    counts = Counter({str(name): n for name, n in train.items()})
    where = f"{first.labels_of(label)} of {quoted(first.name)}"
    check_classes(counts, where, listed(list(column_names(first)), 20) if first.width > 2 else "")
    single = sorted(name for name, n in counts.items() if n == 1)
    if single:
        what = "class has" if len(single) == 1 else "classes have"
        note = f"{len(single):,} {what} one example only: {listed(single)}."
        results[0] = replace(results[0], notes=(*results[0].notes, note))
    labels = ordered(chain.from_iterable(_labels_in(data.examples) for data in results))
    return [replace(data, labels=labels) for data in results]


def _read_sentences(sides: list[_Side]) -> list[TaskData]:
    parts = [[cast(Sentences, part) for part in side.parts] for side in sides]
    scheme = scheme_of([labels for some in parts for part in some for labels in part.labels])
    results = []
    for side, some in zip(sides, parts, strict=True):
        examples: list[Example] = []
        for part in some:
            repairs = Repairs(part.reading.name, part.unit)
            for words, labels, row in zip(part.words, part.labels, part.rows, strict=True):
                labels, repaired = to_bio(labels, scheme)
                for _ in range(repaired):
                    repairs.add(row)
                examples.append(LabelledWords(words, labels, row))
            repairs.tell(
                side.ledger,
                "label went on a span that had not begun, and begins it now",
                "labels went on spans that had not begun, and begin them now",
            )
        if scheme not in (PLAIN, "BIO"):
            side.ledger.note(f"The labels mark spans as {scheme} does and were turned into BIO.")
        readings = tuple(replace(part.reading, scheme=scheme) for part in some)
        results.append(_data("tokens", examples, (), readings, side.ledger))
    name = quoted(parts[0][0].reading.name)
    if len(_labels_in(results[0].examples)) == 1:
        (only,) = _labels_in(results[0].examples)
        raise InputError(f"All words of {name} have the label {quoted(only)}; name the column with the labels.")
    labels = ordered(chain.from_iterable(_labels_in(data.examples) for data in results))
    if len(labels) > MOST_CLASSES:
        raise InputError(
            f"Column {quoted(parts[0][0].reading.label)} of {name} has {len(labels):,} different values "
            f"({listed(list(labels), 3)}), so it is no label; name another column."
        )
    return [replace(data, labels=labels) for data in results]


def _questions(side: _Side) -> TaskData:
    examples: list[Example] = []
    seen: set[str] = set()
    readings = []
    for part in side.parts:
        assert isinstance(part, Questions)
        readings.append(part.reading)
        renamed = Repairs(part.reading.name, UNIT)
        for question in part.questions:
            name = question.id
            for number in count(2):  # answers are told apart by these names
                if question.id not in seen:
                    break
                question = replace(question, id=f"{name}#{number}")
            if question.id != name:
                renamed.add(question.row)
            seen.add(question.id)
            examples.append(question)
        renamed.tell(
            side.ledger,
            "question had the id of another and got a new one",
            "questions had the ids of others and got new ones",
        )
    return _data("qa", examples, (), tuple(readings), side.ledger)


def _data(
    task: Task, examples: list[Example], labels: tuple[str, ...], readings: tuple[Reading, ...], ledger: Ledger
) -> TaskData:
    if not examples:
        name = quoted(readings[0].name)
        reasons = "; ".join(f"{d.count:,} times: {d.reason}, first {d.where[0]}" for d in ledger.dropped[:3])
        raise InputError(
            f"{name} gives no example{f' ({reasons})' if reasons else ''}; check which columns hold text and label."
        )
    return TaskData(task, tuple(examples), labels, readings, ledger.dropped, tuple(ledger.notes))
