"""What a task of the exam is made of, and how answers are marked. Knows no model and no page."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from typing import ClassVar

from pydantic import TypeAdapter

from bertviz_lab.ui.languages import Message, Number

#: Points of a task whose answers are all right; with one wrong answer among three or more it has half of them.
POINTS = 10
#: Points that each hint takes from a task.
HINT_COST = 2
#: Points of all tasks together with which the exam is passed.
PASSING = 70


@dataclass(frozen=True)
class Field:
    """One answer of a task: a choice among `options`, a number, or tokens with blanks between them."""

    label: Message
    key: int | float | str  # of a choice, the index of the right option
    options: tuple[Message | str, ...] = ()
    tolerance: float = 0.0  # absolute, of a number; 0 asks for an integer

    def is_right(self, answer: str) -> bool:
        """Return whether what somebody typed or chose is the key; an answer that cannot be read is wrong."""
        if isinstance(self.key, str):
            return _tokens(answer) == _tokens(self.key)
        value = _number(answer, is_integer=self.tolerance == 0)
        return value is not None and abs(value - self.key) <= self.tolerance + 1e-9

    @property
    def solution(self) -> Message | str:
        """Return the right answer as it is shown."""
        if self.options:
            return self.options[int(self.key)]
        if isinstance(self.key, str):
            return self.key
        return Number(self.key, ",d" if self.tolerance == 0 else ".3f")


@dataclass(frozen=True)
class Task:
    """One task of the exam. Texts are translated where they are shown; `example` and `table` may hold plain English."""

    lesson: int  # the lesson that teaches it
    prompt: tuple[Message, ...]  # paragraphs
    fields: tuple[Field, ...]
    hints: tuple[Message, Message]  # where to look, then the first step
    why: Message  # how the answers come about
    example: tuple[str, ...] = ()  # sentences that the task is about
    table: tuple[tuple[object, ...], ...] = ()  # a header, then rows
    is_drawn: bool = False  # whether the rows of the table, which are numbers, are shown as lines, too


@dataclass(frozen=True)
class Prose:
    """What texts.toml says of a task. Names in braces are values of the seed."""

    TEXTS: ClassVar = ("title", "prompt", "hints", "why")

    title: str
    lesson: int
    prompt: tuple[str, ...]
    hints: tuple[str, str]
    why: str
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # what answers are chosen among, by its name

    def options(self, name: str, **values: object) -> tuple[Message, ...]:
        """Return the choices of a name."""
        return tuple(Message(text, **values) for text in self.choices[name])

    def task(
        self,
        *,
        fields: Sequence[Field],
        example: tuple[str, ...] = (),
        table: tuple[tuple[object, ...], ...] = (),
        is_drawn: bool = False,
        **values: object,
    ) -> Task:
        """Return the task with the `values` of a seed in its texts."""

        def told(*texts: str) -> tuple[Message, ...]:
            return tuple(Message(text, **values) for text in texts)

        prompt, (where, how), (why,) = told(*self.prompt), told(*self.hints), told(self.why)
        return Task(self.lesson, prompt, tuple(fields), (where, how), why, example, table, is_drawn)


#: The texts of all tasks, in the order of the exam.
PROSE = TypeAdapter(dict[str, Prose]).validate_python(
    tomllib.loads((resources.files(__package__) / "texts.toml").read_text(encoding="utf-8"))
)


@dataclass(frozen=True)
class Mark:
    """What the answers to a task are worth: which are right, and the points."""

    right: tuple[bool, ...]
    points: int


def mark(task: Task, answers: Sequence[str], hints: int = 0) -> Mark:
    """Mark the answers to a task after so many hints; those that are missing are wrong."""
    given = [*answers, *[""] * len(task.fields)]
    right = tuple(field.is_right(answer) for field, answer in zip(task.fields, given, strict=False))
    wrong = right.count(False)
    points = POINTS if not wrong else POINTS // 2 if wrong == 1 and len(right) > 2 else 0
    return Mark(right, max(0, points - HINT_COST * hints))


def _tokens(text: str) -> list[str]:
    return text.replace(",", " ").lower().split()


def _number(text: str, *, is_integer: bool) -> float | None:
    """Read a number as English or German writes it: 1,024 and 1.024 are integers, 0.25 and 0,25 are not."""
    plain = "".join(text.split()).replace("\N{MINUS SIGN}", "-")
    plain = plain.replace(",", "").replace(".", "") if is_integer else plain.replace(",", ".")
    try:
        return float(plain)
    except ValueError:
        return None
