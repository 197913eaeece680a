"""Cells with several labels, the label set of a column, and what held-out labels must have in common with it."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Self

from bertviz_lab.data.corpora.reading_notes import quoted
from bertviz_lab.data.examples import Example, Label, LabelledText, Task, TaskData, labels_of_example
from bertviz_lab.data.formats.columns import METADATA_NAMES
from bertviz_lab.data.formats.labels import MAX_CLASSES, class_names, is_missing, known_names, number_of
from bertviz_lab.data.formats.raw import RawTable, pluralized, quoted_list
from bertviz_lab.errors import InputError

#: Between the labels of a cell; the first is what the lists of records are read with.
SEPARATORS = ("\n", "|", ";", ",")
#: The column that replaces columns of 0 and 1.
JOINED_COLUMN = "labels"
#: Names of labels that a file gives as 0, 1 ..., a line each, as data sets such as GoEmotions have them.
NAMES_FILE = "labels.txt"
_BITS = ({"0", "1"}, {"0.0", "1.0"}, {"false", "true"})
_LIST = re.compile(r"\s*[\[(](.*)[\])]\s*", re.DOTALL)
_MAX_NAMES_BYTES = 100_000


def indicator_columns(tables: Sequence[RawTable]) -> tuple[str, ...]:
    """The names of the columns of 0 and 1, by the cells of the first table; none unless all tables have several.

    `tables` have been through `split_header`.
    """
    first = tables[0]
    names = []
    for name, cells in zip(first.column_names, first.columns, strict=True):
        values = {cell.strip().lower() for cell in cells} - {""}
        if first.names and values and any(values <= bits for bits in _BITS) and name.lower() not in METADATA_NAMES:
            names.append(name)
    return tuple(names) if len(names) >= 2 and all(set(names) <= set(t.column_names) for t in tables) else ()


def are_exclusive(tables: Sequence[RawTable], names: Sequence[str]) -> bool:
    """Return whether every row has 1 in exactly one of these columns of 0 and 1."""
    for table in tables:
        columns = list(map(table.column, names))
        if any(sum(_is_one(row[c]) for c in columns) != 1 for row in table.rows if len(row) == table.width):
            return False
    return True


def join_indicator_columns(table: RawTable, names: Sequence[str]) -> None:
    """Replace columns of 0 and 1 by one that lists the names of those with 1. Raises `InputError` for a missing one."""
    indicators = list(map(table.column, names))
    others = [column for column in range(table.width) if column not in indicators]
    for place, row in enumerate(table.rows):
        if len(row) == table.width:  # others keep their width, and are dropped for it
            labels = "\n".join(name for name, column in zip(names, indicators, strict=True) if _is_one(row[column]))
            table.rows[place] = [*(row[column] for column in others), labels]
        else:
            table.rows[place] = [*row, *[""] * (len(others) + 2)]
    table.names = [*(table.column_names[column] for column in others), JOINED_COLUMN]
    table.width, table.delimiter = len(table.names), ""


def _is_one(cell: str) -> bool:
    return cell.strip().lower() in ("1", "1.0", "true")


def label_separator(counts: Mapping[str, int]) -> str:
    """What stands between labels in cells with these counts: one of `SEPARATORS`, a blank, or "" for single labels.

    A blank separates labels only where the parts of a cell are labels by themselves elsewhere, or numbers: "very good"
    is one label.
    """
    cells = {_unwrapped(cell): n for cell, n in counts.items() if not is_missing(cell)}
    for separator in SEPARATORS:
        if any(separator in cell for cell in cells):
            return separator
    alone = {cell for cell in cells if " " not in cell.strip()}
    compound = [cell.split() for cell in cells if " " in cell.strip()]
    if compound and all(part in alone or part.isdigit() for parts in compound for part in parts):
        return " "
    return ""


def are_label_sets(counts: Mapping[str, int]) -> bool:
    """Do cells with these counts hold several labels, where nobody says so?

    Lists do, and words with a separator between them, each of which is also a cell by itself.
    """
    if any("\n" in cell for cell in counts):
        return True
    separator = label_separator(counts)
    if separator not in SEPARATORS:
        return False
    alone = {cell.strip() for cell in counts}
    parts = {part for cell in counts if separator in cell for part in split_labels(cell, separator)}
    return all(part in alone and number_of(part) is None for part in parts)


def split_labels(cell: str, separator: str) -> tuple[str, ...]:
    """The labels in a cell, each once; none in an empty one. Brackets and quotation marks of a list are left out."""
    if is_missing(cell):
        return ()
    inner = _unwrapped(cell)
    parts = (part.strip() for part in (inner.split(separator) if separator else [inner]))
    if inner != cell:  # a list
        parts = (part.strip("'\"") for part in parts)
    return tuple(dict.fromkeys(part for part in parts if not is_missing(part)))


def _unwrapped(cell: str) -> str:
    inner = _LIST.fullmatch(cell)
    return inner[1] if inner else cell


def names_beside(paths: Iterable[str | Path]) -> tuple[str, ...]:
    """The label names in `labels.txt` next to the first of these files; none where there is no such file."""
    for path in map(Path, paths):
        file = path.parent / NAMES_FILE
        try:
            if path.is_file() and file.is_file() and file.stat().st_size <= _MAX_NAMES_BYTES:
                return tuple(line.strip() for line in file.read_text(encoding="utf-8-sig").splitlines())
        except (OSError, ValueError):
            continue
    return ()


def check_label_sets(counts: Counter[str], examples: int, column: str) -> None:
    """Raise `InputError` for a column that gives no, one or too many labels; `counts` are of training examples."""
    subject = column[:1].upper() + column[1:]
    if not counts:
        raise InputError(f"{subject} gives no example a label; name another column.")
    if len(counts) == 1:
        only = f"{subject} has the label {quoted(*counts)} only, and several labels need two at least"
        raise InputError(f"{only}; choose classification, or name another column.")
    if len(counts) > MAX_CLASSES or (examples >= 40 and len(counts) > sum(counts.values()) / 2):
        raise InputError(
            f"{subject} has {len(counts):,} different labels in {examples:,} rows ({quoted_list(list(counts), 3)}), so "
            "it holds no labels; name another column."
        )


@dataclass(frozen=True)
class LabelCells:
    """How the cells of a label column are read.

    Attributes:
        task: classification, multi-label classification or regression.
        classes: the class that each cell names, for multi-label classification each part of one.
        separator: between the parts of a cell.
    """

    task: Task
    classes: Mapping[str, str] = field(default_factory=dict)
    separator: str = ""

    @classmethod
    def of_classes(cls, counts: Mapping[str, int], known: Sequence[str] = ()) -> Self:
        """For cells with these counts, each a class: one of those that are `known`, where some are."""
        return cls("classification", known_names(counts, known) if known else class_names(counts))

    @classmethod
    def of_label_sets(cls, counts: Counter[str], names: Sequence[str]) -> Self:
        """For cells with these counts, each with any number of classes; `names` are those of classes 0, 1 ..."""
        separator = label_separator(counts)
        classes = class_names(chain.from_iterable(split_labels(cell, separator) for cell in counts))
        if all(name.isdigit() and int(name) < len(names) and names[int(name)] for name in classes.values()):
            classes = {part: names[int(name)] for part, name in classes.items()}
        return cls("multilabel", classes, separator)

    def with_cells(self, cells: Iterable[str]) -> Self:
        """For these cells too, which decide nothing: they name the same classes, or classes that nobody knows."""
        if self.task == "regression":
            return self
        several = self.task == "multilabel"
        parts = chain.from_iterable(split_labels(cell, self.separator) for cell in cells) if several else cells
        return replace(self, classes={**known_names(parts, set(self.classes.values())), **self.classes})

    def label(self, cell: str) -> Label | None:
        """What a cell says; None where it is no number, and a number is needed."""
        if self.task == "regression":
            return number_of(cell)
        if self.task == "multilabel":
            labels = (self.classes[part] for part in split_labels(cell, self.separator))
            return tuple(sorted(set(labels)))
        return self.classes.get(cell) or cell.strip()

    def is_missing(self, cell: str) -> bool:
        """Whether a cell lacks its label; one of several labels may hold none."""
        return self.task != "multilabel" and is_missing(cell)

    def is_known(self, cell: str) -> bool:
        """Whether a cell holds a label, as that of a row of the usual width does."""
        if is_missing(cell):
            return False
        if self.task == "multilabel":
            return all(part in self.classes for part in split_labels(cell, self.separator))
        return number_of(cell) is not None if self.task == "regression" else cell in self.classes


def check_held_out(train: TaskData, held_out: TaskData) -> tuple[str, ...]:
    """What is odd about these held-out examples for that training data, as sentences.

    Raises `InputError` where the tasks differ, only one has pairs of texts, or training lacks most held-out labels.
    """
    if train.task != held_out.task:
        raise InputError(
            f"The examples to train on are for {train.task}, those held out for {held_out.task}; give two of one task."
        )
    pairs = [{e.text_b is not None for e in data.examples if isinstance(e, LabelledText)} for data in (train, held_out)]
    if all(pairs) and pairs[0] != pairs[1]:
        raise InputError(
            "Of the examples to train on and those held out, one has pairs of texts and the other has single texts; "
            "name the columns of both."
        )
    known = label_set(train.examples)
    unknown, times, are_most = _unknown_labels(train.task, held_out.examples, known)
    if not unknown:
        return ()
    if are_most:
        raise InputError(
            f"Most held-out examples have labels that none to train on has ({quoted_list(unknown)}, where training has "
            f"{quoted_list(sorted(known))}); write the labels alike in both files."
        )
    return (f"Only the held-out examples have {_described(unknown, times)}: it cannot be learned.",)


def check_known(task: Task, examples: Sequence[Example], labels: Sequence[str]) -> tuple[str, ...]:
    """What is odd about these examples for a model with those labels, as sentences; `InputError` where it knows few."""
    unknown, times, are_most = _unknown_labels(task, examples, labels)
    if not unknown:
        return ()
    if are_most:
        raise InputError(
            f"Most examples have labels that the model does not know ({quoted_list(unknown)}, where the model has "
            f"{quoted_list(labels)}); write the labels as the model has them, or name another column."
        )
    return (f"The model cannot predict {_described(unknown, times)}: every such example counts as an error.",)


def _described(labels: Sequence[str], times: int) -> str:
    noun = "the label" if len(labels) == 1 else "the labels"
    return f"{noun} {quoted_list(labels)} ({pluralized(times, 'time', 'times')})"


def label_set(examples: Sequence[Example]) -> set[str]:
    """The classes that occur in examples."""
    return set(chain.from_iterable(map(labels_of_example, examples)))


def _unknown_labels(task: Task, examples: Sequence[Example], known: Collection[str]) -> tuple[list[str], int, bool]:
    """The labels that are not known, how often they occur, and whether most labels are such."""
    if task not in ("classification", "multilabel", "tokens"):
        return [], 0, False
    counts = Counter(chain.from_iterable(map(labels_of_example, examples)))
    unknown = sorted(label for label in counts if label not in known)
    times = sum(counts[label] for label in unknown)
    return unknown, times, 2 * times > counts.total()
