"""The ten tasks of a seed, and the pages of a task and of the certificate."""

from collections.abc import Mapping, Sequence
from datetime import date
from random import Random
from typing import Any

from babel.dates import format_date

from bertviz_lab.ui.languages import Language, Message
from bertviz_lab.ui.lazy import Checkpoint
from bertviz_lab.ui.lessons.exam import evidence, inputs, network
from bertviz_lab.ui.lessons.exam.task import HINT_COST, PASSING, POINTS, PROSE, Mark, Task, mark
from bertviz_lab.ui.templates import render

#: The makers of the tasks, in order; the last one asks Tiny Town's model, too.
_MAKERS = (
    inputs.mlm_example, inputs.pair_layout, network.attention_row, network.parameters, network.encoder_order,
    network.heads_and_losses, evidence.curves, evidence.control, inputs.kinds_of_model,
)  # fmt: skip
TITLES = tuple(Message(prose.title) for prose in PROSE.values())
COUNT = len(TITLES)


def task_of(seed: int, number: int, town: Checkpoint) -> Task:
    """Return task `number`, from 1 to `COUNT`, of the exam of a seed."""
    draw = Random(f"{seed}/{number}")
    return _MAKERS[number - 1](draw) if number < COUNT else evidence.attribution(draw, town)


def task_page(
    task: Task, number: int, say: Language, hints: int = 0, answers: Sequence[str] | None = None
) -> tuple[str, Mark | None]:
    """Return a task as HTML with so many of its hints, and once there are `answers` with its key and their mark."""
    marked = None if answers is None else mark(task, answers, hints)
    page = render(
        "lessons/exam/task.html",
        say,
        task=task,
        title=TITLES[number - 1],
        number=number,
        hints=task.hints[:hints],
        marked=marked,
        answers=[*(answers or ()), *[""] * len(task.fields)],
        lines=_lines(task.table[1:]) if task.is_drawn else [],
        points=POINTS,
        cost=HINT_COST,
    )
    return page, marked


def certificate_page(
    seed: int,
    name: str,
    answers: Mapping[int, Sequence[str]],
    hints: Mapping[int, int],
    town: Checkpoint,
    say: Language,
    today: date,
) -> str:
    """Return the certificate to print: the answers to the tasks of a seed, marked again."""
    rows = []
    for number in range(1, COUNT + 1):
        task = task_of(seed, number, town)
        rows.append(
            (TITLES[number - 1], hints.get(number, 0), mark(task, answers.get(number, ()), hints.get(number, 0)).points)
        )
    total = sum(points for *_, points in rows)
    return render(
        "lessons/exam/certificate.html", say, name=name, rows=rows, total=total, most=POINTS * COUNT, passing=PASSING,
        seed=seed, day=format_date(today, "long", locale=say.code), points=POINTS,
    )  # fmt: skip


def _lines(rows: Sequence[Sequence[Any]], width: int = 360, height: int = 130) -> list[tuple[Message, str]]:
    """Return the name of each row with the points of an SVG polyline; all share an axis from 0 to the highest value."""
    lines = [(name, [float(number) for number in numbers]) for name, *numbers in rows]
    top = max(value for _, values in lines for value in values)

    def point(value: float, at: int, count: int) -> str:
        return f"{10 + at * (width - 20) / (count - 1):.0f},{height - 8 - value / top * (height - 16):.0f}"

    return [(name, " ".join(point(value, at, len(of)) for at, value in enumerate(of))) for name, of in lines]
