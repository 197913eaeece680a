"""Labels of texts: which are missing, whether they are classes or regression targets, and their names and order."""

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise

from bertviz_lab.data.corpora.reading_notes import quoted
from bertviz_lab.data.formats.raw import quoted_list
from bertviz_lab.errors import InputError

#: What tables have in cells without a value.
MISSING = frozenset({"", "nan", "<na>", "#n/a", "null", "\\n"})
#: A column with more different values is not taken for classes.
MAX_CLASSES = 1_000
_MAX_INTEGER_CLASSES = 30  # different integers that are classes
_MAX_CONSECUTIVE_CLASSES = 200  # likewise, if they count from 0 or 1 without a gap
_MAX_SCORE_CLASSES = 11  # likewise, in a column with one of the `_SCORE_NAMES`
_MIN_NUMERIC = 0.9  # fraction of numbers in a numeric column
_INTEGER = re.compile(r"[+-]?\d+(\.0+)?")
_LISTED = re.compile(r"""'((?:[^'\\]|\\.)*+)'|"((?:[^"\\]|\\.)*+)"|(\d++)""")
_LIST = re.compile(rf"""\s*+(?:\[|\((?=\s*+['"]))\s*+(?:(?:{_LISTED.pattern})\s*+,?+\s*+)*+[\])]\s*+""")
_SCORE_NAMES = ("score", "similarity", "similarity_score", "relatedness_score", "relatedness", "rating", "value")


def is_missing(label: str) -> bool:
    """Is this an empty cell, or a mark of one?"""
    return label.strip().lower() in MISSING


def list_of_labels(cell: str) -> list[str] | None:
    """The labels of a cell that is a list as Python, NumPy or JSON writes it, such as ['bad', 'late']; None for others.

    The labels are in quotation marks, or numbers.
    """
    if ("[" not in cell and "(" not in cell) or not _LIST.fullmatch(cell):
        return None
    return [re.sub(r"\\(.)", r"\1", match[match.lastindex or 0]) for match in _LISTED.finditer(cell)]


def number_of(label: str) -> float | None:
    """The finite number that a label spells; None where it spells none."""
    try:
        value = float(label)
    except ValueError:
        return None
    return value if math.isfinite(value) and "_" not in label else None


def is_regression(counts: Mapping[str, int], column: str) -> bool:
    """Are labels with these counts, in a column of this name, regression targets rather than classes?

    Numbers with decimals are, and many different integers; a few different integers are classes.
    """
    present = {label: n for label, n in counts.items() if not is_missing(label)}
    numbers = {label: n for label, n in present.items() if number_of(label) is not None}
    if sum(numbers.values()) < _MIN_NUMERIC * sum(present.values()) or not numbers:
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


def class_names(labels: Iterable[str]) -> dict[str, str]:
    """The class that each label names: without white space around it, and 1.0 is 1 where all labels are integers."""
    stripped = {label: label.strip() for label in labels}
    names = [name for name in stripped.values() if not is_missing(name)]
    if names and all(_INTEGER.fullmatch(name) for name in names) and any("." in name for name in names):
        return {label: name.split(".")[0] for label, name in stripped.items()}
    return stripped


def known_names(labels: Iterable[str], known: Collection[str]) -> dict[str, str]:
    """The class that each label names of those that are `known`, where the same number is the same class.

    One that names none of them is a class by itself, without white space around it.
    """
    numbers = {number: name for name in known if (number := number_of(name)) is not None}
    names = {}
    for label in labels:
        name = label.strip()
        number = number_of(name)
        names[label] = name if name in known or number is None else numbers.get(number, name)
    return names


def sorted_labels(labels: Iterable[str], declared: Sequence[str] = ()) -> tuple[str, ...]:
    """Class names in order: as `declared` where all are, by size where all are numbers, else by alphabet."""
    names = set(labels)
    if names <= set(declared):
        return tuple(name for name in dict.fromkeys(declared) if name in names)
    if all(number_of(name) is not None for name in names):
        return tuple(sorted(names, key=lambda name: (float(name), name)))
    return tuple(sorted(names))


def check_classes(counts: Counter[str], column: str, columns: str) -> None:
    """Raise `InputError` for a column with these classes, if there is one only, or too many for a column of labels.

    The messages name the column, and the columns from which another can be chosen, if there are any.
    """
    total = sum(counts.values())
    advice = f"; name another: {columns}" if columns else "; name another column"
    if len(counts) == 1:
        (only,) = counts
        subject = "The only example has" if total == 1 else f"All {total:,} examples have"
        label = f"{subject} the label {quoted(only)} in {column}"
        raise InputError(f"{label}, and one class cannot be told from others{advice}.")
    if len(counts) > MAX_CLASSES or (total >= 40 and len(counts) > total / 2):
        values = f"{len(counts):,} different values in {total:,} rows ({quoted_list(list(counts), 3)})"
        raise InputError(f"{column[:1].upper()}{column[1:]} has {values}, so it is no label{advice}.")
