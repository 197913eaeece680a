"""Checks the answers to the exercises in the notebooks: `check(answer, expected)` says whether they are equal."""

import html
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Verdict:
    """The result of a check; `passed` is None where there is no answer yet. A notebook folds the second hint away."""

    passed: bool | None
    message: str
    second_hint: str = ""

    def __repr__(self) -> str:
        return f"{'✓' if self.passed else '…' if self.passed is None else '✗'} {self.message}"

    def _repr_html_(self) -> str:
        shown = f"<p>{html.escape(repr(self))}</p>"
        if self.second_hint:
            shown += f"<details><summary>Second hint</summary>{html.escape(self.second_hint)}</details>"
        return shown


def check(answer: Any, expected: Any, hint: str = "", second_hint: str = "", *, tolerance: float = 1e-4) -> Verdict:
    """Compare an answer with what is expected: numbers, lists and tensors within `tolerance`, all else as it is.

    An answer of `...` or None is none yet: an exercise begins with one. A wrong answer gets the `hint`, which says what
    to think of; the `second_hint`, which says what to use, unfolds below it.
    """
    if answer is None or answer is ...:
        return Verdict(None, "Not answered yet: put your answer in place of the dots above, and run both cells again.")
    shapes = [_shape(value) for value in (answer, expected)]
    if shapes[0] != shapes[1]:
        given, wanted = (shape or "a single value" for shape in shapes)
        return Verdict(False, f"Not yet: the shape should be {wanted}, and is {given}. {hint}".strip(), second_hint)
    if _equal(answer, expected, tolerance):
        return Verdict(True, "Correct.")
    return Verdict(False, f"Not yet. {hint}".strip(), second_hint)


def _array(value: Any) -> np.ndarray:
    """Return the value as an array; a tensor that takes part in training is detached from it."""
    return np.asarray(value.detach().cpu() if hasattr(value, "detach") else value)


def _shape(value: Any) -> tuple[int, ...] | None:
    """Return the shape of an array or of what is made of numbers alone; None of anything else."""
    if isinstance(value, str | set | dict):
        return None
    try:
        return _array(value).shape
    except ValueError:  # lists of unequal lengths
        return None


def _equal(answer: Any, expected: Any, tolerance: float) -> bool:
    if _shape(expected) is None:
        return bool(answer == expected)
    arrays = _array(answer), _array(expected)
    if all(array.dtype.kind in "biuf" for array in arrays):
        return bool(np.allclose(*arrays, rtol=tolerance, atol=tolerance))
    return bool(np.array_equal(*arrays))
