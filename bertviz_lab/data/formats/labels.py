"""Labels of texts: which cells lack them, classes or numbers, one or several in a cell, and what splits must share."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from pathlib import Path
from typing import ClassVar, Self

from bertviz_lab.data.corpora.formats.tables import number_of
from bertviz_lab.data.corpora.reading_notes import inflected, pluralized, quoted, quoted_list
from bertviz_lab.data.examples import Example, Label, LabelledText, Task, TaskData, class_counts
from bertviz_lab.data.formats.raw import RawTable
from bertviz_lab.errors import InputError

#: What tables have in cells without a value.
MISSING = frozenset({"", "nan", "<na>", "#n/a", "null", "\\n"})
#: A column with more different values is not taken for classes.
MAX_CLASSES = 1_000
_MAX_INTEGER_CLASSES = 30  # different integers that are classes
_MAX_CONSECUTIVE_CLASSES = 200  # likewise, if they count from 0 or 1 without a gap
_MAX_SCORE_CLASSES = 11  # likewise, in a column with one of the `_SCORE_NAMES`
_COMMA_NUMBER = re.compile(r"[+-]?\d+(?:,\d+)?")
_INTEGER = re.compile(r"[+-]?\d+(\.0+)?")
_LISTED = re.compile(r"""'((?:[^'\\]|\\.)*+)'|"((?:[^"\\]|\\.)*+)"|(\d++)(?:\.0*+(?!\d))?""")
_WRITTEN_LIST = re.compile(rf"""\s*+(?:\[|\((?=\s*+['"]))\s*+(?:(?:{_LISTED.pattern})\s*+,?+\s*+)*+[\])]\s*+""")
_SCORE_NAMES = ("score", "similarity", "similarity_score", "relatedness_score", "relatedness", "rating", "value")
#: Between the labels of a cell; the first is what the lists of records are read with.
SEPARATORS = ("\n", "|", ";", ",")
_RARE_SEPARATORS = ("#", "/", " ")  # that also stand inside the names of labels
#: Names of labels that a file gives as 0, 1 ..., a line each, as data sets such as GoEmotions have them.
NAMES_FILE = "labels.txt"
_LIST = re.compile(r"\s*[\[(](.*)[\])]\s*", re.DOTALL)


def is_missing(label: str) -> bool:
    """Is this an empty cell, or a mark of one?"""
    return label.strip().lower() in MISSING


def are_comma_decimals(cells: Collection[str]) -> bool:
    """Return whether cells are numbers as much of Europe writes them, some with a comma: 4,5 and 3."""
    return any("," in cell for cell in cells) and all(_COMMA_NUMBER.fullmatch(cell.strip()) for cell in cells)


def list_of_labels(cell: str) -> list[str] | None:
    """Return the labels of a cell that is a list of quoted labels or numbers, such as ['bad', 'late']; else None."""
    if ("[" not in cell and "(" not in cell) or not _WRITTEN_LIST.fullmatch(cell):
        return None
    return [re.sub(r"\\(.)", r"\1", match[match.lastindex or 0]) for match in _LISTED.finditer(cell)]


def class_names(labels: Iterable[str]) -> dict[str, str]:
    """Return the class that each label names: stripped of white space, and 1.0 is 1 where all labels are integers."""
    stripped = {label: label.strip() for label in labels}
    names = [name for name in stripped.values() if not is_missing(name)]
    if names and all(_INTEGER.fullmatch(name) for name in names) and any("." in name for name in names):
        return {label: name.split(".")[0] for label, name in stripped.items()}
    return stripped


def known_names(labels: Iterable[str], known: Collection[str]) -> dict[str, str]:
    """Return the `known` class that each label names, by its name or the same number; others name themselves."""
    numbers = {number: name for name in known if (number := number_of(name)) is not None}
    names = {}
    for label in labels:
        name = label.strip()
        number = number_of(name)
        names[label] = name if name in known or number is None else numbers.get(number, name)
    return names


def sorted_labels(labels: Iterable[str], declared: Sequence[str] = ()) -> tuple[str, ...]:
    """Return class names in order: as `declared` where all are, by size where all are numbers, else by alphabet."""
    names = set(labels)
    if names <= set(declared):
        return tuple(name for name in dict.fromkeys(declared) if name in names)
    if all(number_of(name) is not None for name in names):
        return tuple(sorted(names, key=lambda name: (float(name), name)))
    return tuple(sorted(names))


def label_separator(counts: Mapping[str, int]) -> str:
    """Return what stands between labels in cells with these counts: one of `SEPARATORS` or `_RARE_SEPARATORS`, or ""
    for single labels.

    A rare one separates labels only where the parts of each cell are labels by themselves elsewhere, or numbers between
    blanks: "very good", "C#" and "Sci/Tech" are one label.
    """
    cells = {_unwrapped(cell): n for cell, n in counts.items() if not is_missing(cell)}
    for separator in SEPARATORS:
        if any(separator in cell for cell in cells):
            return separator
    for separator in _RARE_SEPARATORS:
        alone = {cell.strip() for cell in cells if separator not in cell.strip()}
        compound = [cell.split(separator.strip() or None) for cell in cells if separator in cell.strip()]
        parts = {part.strip() for parts in compound for part in parts}
        if parts and all(part in alone or (separator == " " and part.isdigit()) for part in parts):
            return separator
    return ""


def split_labels(cell: str, separator: str) -> tuple[str, ...]:
    """Return the labels in a cell, each once, without the brackets and quotation marks of a list; none if empty."""
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
    """Return the label names in `labels.txt` next to the first of these files; none where there is no such file."""
    for path in map(Path, paths):
        file = path.parent / NAMES_FILE
        with suppress(OSError, ValueError):
            if path.is_file() and file.is_file() and file.stat().st_size <= 100_000:
                return tuple(line.strip() for line in file.read_text(encoding="utf-8-sig").splitlines())
    return ()


@dataclass(frozen=True)
class ClassCells:
    """Cells of a label column that hold one class each."""

    classes: Mapping[str, str]  # that each cell, or each part of one, names
    task: ClassVar[Task] = "classification"

    @classmethod
    def claims(cls, counts: Mapping[str, int], column: str) -> bool:
        """Return whether cells with these counts, in a column of this name, are such where no task is given."""
        return True

    @staticmethod
    def separator_in(counts: Mapping[str, int]) -> str:
        """Return what stands between the labels of one cell; "" where each has one."""
        return ""

    @classmethod
    def of(cls, counts: Mapping[str, int], known: Sequence[str] = (), names: Sequence[str] = ()) -> Self:
        """Read cells with these counts; of `known` classes if any are given. `names` are those of 0, 1 ... in sets."""
        return cls(known_names(counts, known) if known else class_names(counts))

    def check(self, counts: Counter[str], examples: int, table: RawTable, label: int) -> None:
        """Raise `InputError` for a column that gives so many examples one class, or too many; it names the others."""
        column = table.describe_column(label, of_file=True)
        advice = (
            f"; name another: {quoted_list(table.column_names, 20)}" if table.width > 2 else "; name another column"
        )
        if len(counts) == 1:
            subject = "The only example has" if examples == 1 else f"All {examples:,} examples have"
            known = f"{subject} the label {quoted(*counts)} in {column}"
            raise InputError(f"{known}, and one class cannot be told from others{advice}.")
        if len(counts) > MAX_CLASSES or (examples >= 40 and len(counts) > counts.total() / 2):
            values = f"{len(counts):,} different values in {examples:,} rows ({quoted_list(list(counts), 3)})"
            raise InputError(f"{column[:1].upper()}{column[1:]} has {values}, so it is no label{advice}.")

    def parts(self, cell: str) -> Sequence[str]:
        """Return the parts of a cell that name a class."""
        return (cell,)

    def with_cells(self, cells: Iterable[str]) -> Self:
        """Accept the cells of further files, which add only classes that are unknown to the first."""
        parts = chain.from_iterable(map(self.parts, cells))
        return replace(self, classes={**known_names(parts, set(self.classes.values())), **self.classes})

    def label(self, cell: str) -> Label | None:
        """Return the label in a cell; None for no number where one is needed."""
        return self.classes.get(cell) or cell.strip()

    def is_missing(self, cell: str) -> bool:
        """Return whether a cell lacks its label."""
        return is_missing(cell)

    def is_known(self, cell: str) -> bool:
        """Return whether a cell holds a label, as that of a row of the usual width does."""
        return not is_missing(cell) and all(part in self.classes for part in self.parts(cell))


@dataclass(frozen=True)
class LabelSetCells(ClassCells):
    """Cells that hold any number of classes each, or none."""

    separator: str  # between the parts of a cell
    task: ClassVar[Task] = "multilabel"
    separator_in = staticmethod(label_separator)

    @classmethod
    def claims(cls, counts: Mapping[str, int], column: str) -> bool:
        """Return whether cells are lists, or have a separator between words that are also cells by themselves."""
        if any("\n" in cell for cell in counts):
            return True
        separator = label_separator(counts)
        if separator not in SEPARATORS:
            return False
        alone = {cell.strip() for cell in counts}
        parts = {part for cell in counts if separator in cell for part in split_labels(cell, separator)}
        return all(part in alone and number_of(part) is None for part in parts)

    @classmethod
    def of(cls, counts: Mapping[str, int], known: Sequence[str] = (), names: Sequence[str] = ()) -> Self:
        separator = label_separator(counts)
        classes = class_names(chain.from_iterable(split_labels(cell, separator) for cell in counts))
        if all(name.isdigit() and int(name) < len(names) and names[int(name)] for name in classes.values()):
            classes = {part: names[int(name)] for part, name in classes.items()}
        return cls(classes, separator)

    def check(self, counts: Counter[str], examples: int, table: RawTable, label: int) -> None:
        column = table.describe_column(label, of_file=True)
        subject = column[:1].upper() + column[1:]
        if not counts:
            raise InputError(f"{subject} gives no example a label; name another column.")
        if len(counts) == 1:
            only = f"{subject} has the label {quoted(*counts)} only, and several labels need two at least"
            raise InputError(f"{only}; choose classification, or name another column.")
        super().check(counts, examples, table, label)

    def parts(self, cell: str) -> Sequence[str]:
        return split_labels(cell, self.separator)

    def label(self, cell: str) -> Label:
        return tuple(sorted({self.classes[part] for part in self.parts(cell)}))

    def is_missing(self, cell: str) -> bool:
        return False


@dataclass(frozen=True)
class NumberCells(ClassCells):
    """Cells that hold a number each."""

    task: ClassVar[Task] = "regression"

    @classmethod
    def claims(cls, counts: Mapping[str, int], column: str) -> bool:
        """Return whether labels are targets of regression: decimals, or more integers than classes have."""
        present = {label: n for label, n in counts.items() if not is_missing(label)}
        numbers = {label: n for label, n in present.items() if number_of(label) is not None}
        if sum(numbers.values()) < 0.9 * sum(present.values()) or not numbers:
            return False
        if len(present) - len(numbers) >= len(numbers):
            return False
        if not all(_INTEGER.fullmatch(label.strip()) for label in numbers):
            return True
        values = sorted({float(label) for label in numbers})
        if column.strip().lower() in _SCORE_NAMES:
            return len(values) > _MAX_SCORE_CLASSES
        consecutive = values[0] in (0, 1) and all(b - a == 1 for a, b in pairwise(values))
        return len(values) > (_MAX_CONSECUTIVE_CLASSES if consecutive else _MAX_INTEGER_CLASSES)

    @classmethod
    def of(cls, counts: Mapping[str, int], known: Sequence[str] = (), names: Sequence[str] = ()) -> Self:
        return cls({})

    def with_cells(self, cells: Iterable[str]) -> Self:
        return self

    def label(self, cell: str) -> Label | None:
        return number_of(cell)

    def is_known(self, cell: str) -> bool:
        return not is_missing(cell) and number_of(cell) is not None


#: What reads the cells of a label column, by task; without one the first that claims them.
LABEL_CELLS: dict[str, type[ClassCells]] = {cells.task: cells for cells in (NumberCells, LabelSetCells, ClassCells)}


def check_held_out(train: TaskData, held_out: TaskData) -> tuple[str, ...]:
    """Return what is odd about held-out examples for training data, in sentences. Raises `InputError` for a misfit."""
    pairs = [{e.text_b is not None for e in data.examples if isinstance(e, LabelledText)} for data in (train, held_out)]
    if all(pairs) and pairs[0] != pairs[1]:
        raise InputError(
            "Of the examples to train on and those held out, one has pairs of texts and the other has single texts; "
            "name the columns of both."
        )
    return _about_unknown(
        train.task,
        held_out.examples,
        sorted(class_counts(train.examples)),
        "Most held-out examples have labels that none to train on has ({unknown}, where training has {known}); write "
        "the labels alike in both files.",
        "Only the held-out examples have {unknown}: it cannot be learned.",
    )


def check_known(task: Task, examples: Sequence[Example], labels: Sequence[str]) -> tuple[str, ...]:
    """Return what is odd about examples for a model with those labels, in sentences; `InputError` if it knows few."""
    return _about_unknown(
        task,
        examples,
        labels,
        "Most examples have labels that the model does not know ({unknown}, where the model has {known}); write the "
        "labels as the model has them, or name another column.",
        "The model cannot predict {unknown}: every such example counts as an error.",
    )


def _about_unknown(
    task: Task, examples: Sequence[Example], known: Sequence[str], most: str, some: str
) -> tuple[str, ...]:
    """Return the sentence `some` on unknown labels. Raises `InputError` with the sentence `most` for many of them."""
    if task not in ("classification", "multilabel", "tokens"):
        return ()
    counts = class_counts(examples)
    unknown = sorted(counts.keys() - set(known))
    times = sum(counts[label] for label in unknown)
    if 2 * times > counts.total():
        raise InputError(most.format(unknown=quoted_list(unknown), known=quoted_list(known)))
    described = f"the {inflected(len(unknown), 'label<s>')} {quoted_list(unknown)} ({pluralized(times, 'time<s>')})"
    return (some.format(unknown=described),) if unknown else ()
