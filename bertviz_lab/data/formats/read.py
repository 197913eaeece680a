"""Files in, task data out: format, columns and task are inferred, and each can be given.

Nothing is dropped silently: a row that gives no example is counted with its reason and location, a repair is noted, and
data that cannot be learned from is an `InputError` that names the file, the row and the column.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

from bertviz_lab.data.corpora.reading_notes import pluralized, quoted, quoted_list
from bertviz_lab.data.examples import Example, FileInfo, Task, TaskData, class_counts
from bertviz_lab.data.formats.columns import Columns, choose_columns, join_indicators, number_indicators, split_header
from bertviz_lab.data.formats.labels import (
    LABEL_CELLS,
    MAX_CLASSES,
    NAMES_FILE,
    ClassCells,
    LabelSetCells,
    NumberCells,
    are_comma_decimals,
    check_held_out,
    is_missing,
    names_beside,
    number_of,
    sorted_labels,
)
from bertviz_lab.data.formats.questions import literal, with_unique_ids
from bertviz_lab.data.formats.raw import DropReport, RawData, RawQuestions, RawSentences, RawTable, ReadOptions
from bertviz_lab.data.formats.records import reader_of
from bertviz_lab.data.formats.registry import load_raw_data
from bertviz_lab.data.formats.related_texts import read_related
from bertviz_lab.data.formats.tables import (
    check_numbers,
    join_nested_texts,
    label_counts,
    labelled_texts,
    split_lists,
    write_points,
)
from bertviz_lab.data.formats.words.conll import sentences_of_table
from bertviz_lab.data.formats.words.span_labels import PLAIN, bio_scheme, spelling_repairs, to_bio
from bertviz_lab.errors import InputError

Paths = Sequence[str | Path] | str | Path
#: What each kind of raw data is, and its tasks.
_KINDS: dict[type, tuple[str, tuple[Task, ...]]] = {
    RawTable: ("a table of texts", ("classification", "multilabel", "regression", "embeddings")),
    RawSentences: ("words with a label each", ("tokens",)),
    RawQuestions: ("questions about passages", ("qa",)),
}
_RATINGS = frozenset(map(str, range(11)))  # five of them or more may be a scale
_SPELLINGS = 10  # of one label at most: prefixes of spans, upper and lower case
_CONTINUED = (
    "label<s> continued <a span that had not begun, and begins it|spans that had not begun, and begin them> now"
)


def read_task(paths: Paths, task: str = "auto", labels: Sequence[str] = (), **options: Any) -> TaskData:
    """Return the examples of some files, read as one data set.

    Args:
        paths: files of any of these formats, folders, zips and patterns of them: .csv and .tsv tables, lines that
            begin with a label ("0 How far is it?", "__label__spam You have won"), words and labels in columns (CoNLL),
            CoNLL-U, .json and .jsonl records, SQuAD, .parquet; and "dataset:NAME[:CONFIG][@SPLIT]".
        task: see `ReadOptions`.
        labels: those of a model that is scored on the examples; a file may give them by their numbers.
        options: fields of `ReadOptions`.

    Raises:
        InputError: a file cannot be read, holds no examples, or has labels that cannot be learned.
    """
    return _read([paths], ReadOptions(task, **options), 1, labels)[0]


def read_each(paths: Sequence[str | Path], task: str, **options: Any) -> list[TaskData]:
    """Return the examples of each file apart, in files that are read as one data set; arguments as for `read_task`."""
    return _read([[path] for path in paths], ReadOptions(task, **options), len(paths))


def read_splits(splits: Sequence[Paths], task: str = "auto", *, tested: bool = False, **options: Any) -> list[TaskData]:
    """Training examples and other splits, of one task and with the same labels; arguments as for `read_task`.

    The columns of the first are used for the others; whether labels are numbers or classes, what the classes are called
    and how they mark spans is decided over all. A label that only another has is in all label sets, and is noted. With
    `tested` the last is a test set, which is read as the others were and decides nothing.

    Raises:
        InputError: as `read_task` and `check_held_out`.
    """
    first, *others = _read(splits, ReadOptions(task, **options), len(splits) - tested)
    return [first, *(replace(other, notes=(*other.notes, *check_held_out(first, other))) for other in others)]


_Splits = list[tuple[list[Any], DropReport]]  # the files of each, all of one kind


def _read(
    split_paths: Sequence[Paths], options: ReadOptions, deciding: int, known: Sequence[str] = ()
) -> list[TaskData]:
    """Return the splits, read as the first `deciding` of them require; for a model where its labels are `known`."""
    splits: _Splits = []
    for paths in split_paths:
        report = DropReport(options.given)
        read = load_raw_data(paths, options, report)
        splits.append(([_converted(raw, options, report) for raw in read], report))
    files = [file for files_of_split, _ in splits for file in files_of_split]
    kind, first_name = type(files[0]), quoted(files[0].name)
    for file in files:
        if type(file) is not kind:
            raise InputError(
                f"{first_name} holds {_KINDS[kind][0]}, {quoted(file.name)} {_KINDS[type(file)][0]}; "
                "give files of one kind."
            )
    what, tasks = _KINDS[kind]
    if options.task not in ("auto", *tasks):
        raise InputError(
            f"{first_name} holds {what}, which is {', '.join(tasks)}, not {options.task}; "
            "choose that task, or another file."
        )
    if kind is RawTable:
        first = split_paths[0]
        names = names_beside([first] if isinstance(first, (str, Path)) else first)
        return _read_tables(splits, options, names, deciding, known)
    if kind is RawSentences:
        return _read_sentences(splits, deciding, known)
    return [
        _task_data("qa", with_unique_ids(files, report), tuple(file.info for file in files), report)
        for files, report in splits
    ]


def _converted(raw: RawData, options: ReadOptions, report: DropReport) -> RawData:
    """Return the questions or the labeled words of a table that holds them, such as SQuAD and NER in CSV."""
    if not isinstance(raw, RawTable):
        return raw
    split_header(raw, options, report)
    names, is_table = raw.column_names, raw.info.format in ("table", "workbook")  # records have been looked at
    records = (dict(zip(names, map(literal, row), strict=False)) for row in (raw.rows if is_table else ()))
    sample = list(islice(records, 100))
    if sample and (reader := reader_of(sample, {}, raw, options, report)):
        return reader([*sample, *records])
    if options.task in ("auto", "tokens") and (words := sentences_of_table(raw, options, report)):
        return words
    join_nested_texts(raw, report)
    return raw


def _read_tables(
    splits: _Splits, options: ReadOptions, names: Sequence[str], deciding: int, known: Sequence[str]
) -> list[TaskData]:
    """`names` are those of the classes 0, 1 ... of multi-label classification, where they are known."""
    all_tables = [table for tables_of_split, _ in splits for table in tables_of_split]
    named = {name.lower() for name in all_tables[0].names or ()}
    if options.task == "embeddings" or (options.task == "auto" and named >= {"anchor", "positive"}):
        return [_task_data("embeddings", *split) for split in read_related(splits, options)]
    options = join_indicators(all_tables, sum(len(files) for files, _ in splits[:deciding]), options, splits[0][1])
    tables: list[list[tuple[RawTable, Columns]]] = []  # of each split
    first_table: tuple[RawTable, Columns] | None = None
    for files, report in splits:
        tables.append([])
        for table in files:
            if not table.rows:
                raise InputError(f"{quoted(table.name)} has no rows below its header; choose a file with examples.")
            columns = choose_columns(table, options, first_table, report)
            first_table = first_table or (table, columns)
            tables[-1].append((table, columns))
    if "label" not in options.given:
        for (_, report), tables_of_split in zip(splits, tables, strict=True):
            if len(tables_of_split) > 1:
                _doubt_unlike_files(tables_of_split, report)
    label_columns = [(table, columns.label) for table, columns in chain.from_iterable(tables)]
    if listed := sum(split_lists(table, column) for table, column in label_columns):
        what = "label cell<s> <holds a list and was read as its|hold lists and were read as their> labels."
        splits[0][1].note(pluralized(listed, what))
    options = number_indicators(label_columns, options, splits[0][1])
    counts = label_counts(chain.from_iterable(tables[:deciding]))
    present = [label for label in counts if not is_missing(label)]
    given = LABEL_CELLS.get(options.task)
    # Next to whole numbers, 4,5 may also be two labels.
    may_be_numbers = given is NumberCells or (given is None and all("," in label for label in present))
    if may_be_numbers and are_comma_decimals(present):
        for table, column in label_columns:
            write_points(table, column, splits[0][1])
        counts = label_counts(chain.from_iterable(tables[:deciding]))
    first, first_columns = tables[0][0]
    label_name = first.column_names[first_columns.label]
    kind = given or next(kind for kind in LABEL_CELLS.values() if kind.claims(counts, label_name))
    cells = kind.of(counts, known, names)
    if kind is NumberCells:
        for table, column in label_columns:
            check_numbers(table, column)
    elif kind is LabelSetCells and cells.classes and set(cells.classes.values()) <= set(names):
        splits[0][1].note(f"The labels 0, 1 ... have the names in {quoted(NAMES_FILE)}.")
    elif kind is ClassCells and not known and len(counts) > _SPELLINGS * MAX_CLASSES:
        cells.check(counts, counts.total(), first, first_columns.label)  # before seconds are lost on its examples
    results = []
    for number, ((_, report), tables_of_split) in enumerate(zip(splits, tables, strict=True)):
        if number == deciding:
            cells = cells.with_cells(label_counts(tables_of_split))
        examples: list[Example] = []
        for table, columns in tables_of_split:
            examples += labelled_texts(table, columns, cells, report)
        infos = tuple(table.info_with_columns(*columns) for table, columns in tables_of_split)
        results.append(_task_data(cells.task, examples, infos, report))
    if kind is NumberCells or known:
        return results
    counts = class_counts(results[0].examples)
    cells.check(counts, len(results[0].examples), first, first_columns.label)
    notes = list(results[0].notes)
    if single := sorted(name for name, n in counts.items() if n == 1):
        notes.append(f"{pluralized(len(single), '<class has|classes have>')} one example only: {quoted_list(single)}.")
    if "task" not in options.given and len(counts) > 4 and counts.keys() <= _RATINGS:
        span = f"{min(map(int, counts))} to {max(map(int, counts))}"
        regression = "if they are ratings or similarities, --task regression predicts numbers"
        notes.append(f"The whole numbers {span} were read as classes; {regression}.")
    results[0] = replace(results[0], notes=tuple(notes))
    return _with_labels(results, deciding, first.class_names.get(label_name, ()))


def _doubt_unlike_files(tables: list[tuple[RawTable, Columns]], report: DropReport) -> None:
    """Doubt that files are one data set where one has other columns than the first, or classes but none of its."""
    used = [[table.column_names[c] for c in columns if c is not None] for table, columns in tables]
    labels = [{label.strip() for label in label_counts([each])} for each in tables]
    for (table, _), names, found in list(zip(tables, used, labels, strict=True))[1:]:
        has_others = table.names is not None and names != used[0]
        are_classes = len(found) > 1 and any(number_of(label) is None for label in found)
        if has_others or (are_classes and found.isdisjoint(labels[0])):
            unlike = f"{quoted(table.name)} has other {'columns' if has_others else 'labels'} than"
            first = quoted(tables[0][0].name)
            report.doubt(f"{unlike} {first}: give files of one data set, or name the label with --label.", "label")


def _with_labels(results: list[TaskData], deciding: int, declared: Sequence[str] = ()) -> list[TaskData]:
    """Add the label set of the splits that decide it."""
    labels = sorted_labels(chain.from_iterable(class_counts(data.examples) for data in results[:deciding]), declared)
    return [replace(data, labels=labels) for data in results]


def _read_sentences(splits: _Splits, deciding: int, known: Sequence[str]) -> list[TaskData]:
    deciding_files = [file for files, _ in splits[:deciding] for file in files]
    counts = Counter(chain.from_iterable(sentence.labels for file in deciding_files for sentence in file.sentences))
    if not known:
        _check_word_labels(deciding_files[0].info, counts, _SPELLINGS * MAX_CLASSES)  # before minutes are lost on them
    repairs = spelling_repairs(counts)
    respelled = [[repairs.get(label, label) for label in s.labels] for file in deciding_files for s in file.sentences]
    scheme = bio_scheme(respelled)
    results = []
    for files, report in splits:
        examples: list[Example] = []
        for file in files:
            for sentence in file.sentences:
                meant = [repairs.get(label, label) for label in sentence.labels]
                for place, (label, name) in enumerate(zip(sentence.labels, meant, strict=True)):
                    if label != name:
                        row = sentence.row + (place if file.unit == "line" else 0)
                        report.repair(f"label<s> {quoted(label)} <was|were> read as {quoted(name)}", file, row)
                labels, repaired = to_bio(meant, scheme)
                if repaired:
                    report.repair(_CONTINUED, file, sentence.row, repaired)
                examples.append(replace(sentence, labels=labels, file=file.name))
        if scheme not in (PLAIN, "BIO"):
            report.note(f"The labels mark spans in the {scheme} scheme and were converted to BIO.")
        infos = tuple(replace(file.info, scheme=scheme) for file in files)
        results.append(_task_data("tokens", examples, infos, report))
    if known:
        return results
    first = deciding_files[0].info
    if len(train_labels := class_counts(results[0].examples)) == 1:
        only = f"All words of {quoted(first.name)} have the label {quoted(*train_labels)}"
        raise InputError(f"{only}; name the column with the labels.")
    results = _with_labels(results, deciding)
    _check_word_labels(first, results[0].labels, MAX_CLASSES)
    return results


def _check_word_labels(info: FileInfo, labels: Collection[str], limit: int) -> None:
    """Raise `InputError` where words have more than `limit` different labels."""
    if len(labels) > limit:
        raise InputError(
            f"Column {quoted(info.label)} of {quoted(info.name)} has {len(labels):,} different values "
            f"({quoted_list(sorted(labels), 3)}), so it is no label; name another column."
        )


def _task_data(task: Task, examples: Sequence[Example], files: tuple[FileInfo, ...], report: DropReport) -> TaskData:
    if not examples:
        reasons = "; ".join(f"{d.count:,} times: {d.reason}, first {d.where[0]}" for d in report.dropped[:3])
        none = f"{quoted(files[0].name)} gives no example{f' ({reasons})' if reasons else ''}"
        raise InputError(f"{none}; check which columns hold text and label.")
    return report.data(task, examples, files)
