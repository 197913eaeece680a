"""Labels of texts: which are missing, whether they are classes or numbers, and their names and order."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import pairwise

from bertviz_lab.data.corpora.file_names import quoted
from bertviz_lab.data.tasks.reading.raw_data import listed
from bertviz_lab.errors import InputError

#: What tables have where there is no value.
MISSING = frozenset({"", "nan", "<na>", "#n/a", "null"})
#: More different labels than this are none that a classifier is trained on here.
MOST_CLASSES = 1_000
_FEW_NUMBERS = 30  # whole numbers that are classes whatever they are
_GAPLESS = 200  # and those that count from 0 or 1 without a gap
_ALWAYS = 0.9  # share of numbers that makes a column one of numbers
_WHOLE = re.compile(r"[+-]?\d+(\.0+)?")
#: Columns of these names hold amounts, not the numbers of classes, where there are more than a handful.
_AMOUNTS = ("score", "similarity", "similarity_score", "relatedness_score", "relatedness", "rating", "value")
_HANDFUL = 11


def is_missing(label: str) -> bool:
    """No label: an empty cell, or what stands for one."""
    return label.strip().lower() in MISSING


def number_of(label: str) -> float | None:
    """The finite number that a label spells; None for another."""
    try:
        value = float(label)
    except ValueError:
        return None
    return value if math.isfinite(value) and "_" not in label else None


def are_amounts(labels: Mapping[str, int], column: str) -> bool:
    """Are labels with these counts numbers to predict (regression), rather than classes?

    Numbers with decimals are, and whole numbers that are many; a few whole numbers are classes.
    """
    spelt = {label: n for label, n in labels.items() if not is_missing(label)}
    numbers = {label: n for label, n in spelt.items() if number_of(label) is not None}
    if sum(numbers.values()) < _ALWAYS * sum(spelt.values()) or not numbers:
        return False
    if len(numbers) < len(spelt) and len(spelt) - len(numbers) >= len(numbers):
        return False
    if not all(_WHOLE.fullmatch(label.strip()) for label in numbers):
        return True
    values = sorted({float(label) for label in numbers})
    if column.strip().lower() in _AMOUNTS:
        return len(values) > _HANDFUL
    gapless = values[0] in (0, 1) and all(b - a == 1 for a, b in pairwise(values))
    return len(values) > (_GAPLESS if gapless else _FEW_NUMBERS)


def spellings(labels: Iterable[str]) -> dict[str, str]:
    """The class that each label names: blanks around it aside, and 1.0 is 1 where all are whole numbers."""
    stripped = {label: label.strip() for label in labels}
    names = [name for name in stripped.values() if not is_missing(name)]
    if names and all(_WHOLE.fullmatch(name) for name in names) and any("." in name for name in names):
        return {label: name.split(".")[0] for label, name in stripped.items()}
    return stripped


def ordered(labels: Iterable[str]) -> tuple[str, ...]:
    """Class names in order: by size where all are numbers, else by alphabet."""
    names = set(labels)
    if all(number_of(name) is not None for name in names):
        return tuple(sorted(names, key=lambda name: (float(name), name)))
    return tuple(sorted(names))


def check_classes(counts: Counter[str], where: str, columns: str) -> None:
    """Refuse what is no set of classes.

    Args:
        counts: how often each class occurs.
        where: the column, with its file, for the message.
        columns: what to choose from, or "".

    Raises:
        InputError: there is one class, or there are so many that this is no column of labels.
    """
    total = sum(counts.values())
    others = f"; name another: {columns}" if columns else "; name another column"
    if len(counts) == 1:
        (only,) = counts
        who = "The only example has" if total == 1 else f"All {total:,} examples have"
        raise InputError(
            f"{who} the label {quoted(only)} in {where}, and one class cannot be told from others{others}."
        )
    if len(counts) > MOST_CLASSES or (total >= 40 and len(counts) > total / 2):
        first = listed(list(counts), 3)
        raise InputError(
            f"{where[:1].upper()}{where[1:]} has {len(counts):,} different values in {total:,} rows ({first}), "
            f"so it is no label{others}."
        )
