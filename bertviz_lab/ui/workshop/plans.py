"""The plans of a workshop, in plans.toml, and who trains when: a machine trains few models at a time."""

import math
import tomllib
from dataclasses import dataclass
from importlib import resources
from typing import ClassVar, Literal

from pydantic import TypeAdapter

from bertviz_lab.jobs.runs import PREPARING_SECONDS
from bertviz_lab.ui.languages import Message


@dataclass(frozen=True)
class Part:
    """A part of a workshop."""

    TEXTS: ClassVar = ("title", "text")

    minutes: int  # including the discussion
    title: str = ""
    text: str = ""  # what the leader does; "" in a lesson, whose question is shown instead
    lesson: int = 0  # its number; 0 for none
    runs: Literal["", "start", "end"] = ""  # whether runs are started or looked at; they train in between


@dataclass(frozen=True)
class Plan:
    """A workshop: what participants can do after it, and its parts in order."""

    TEXTS: ClassVar = ("goals", "parts")

    goals: tuple[str, ...]
    parts: tuple[Part, ...]

    @property
    def minutes(self) -> int:
        return sum(part.minutes for part in self.parts)

    def timed(self) -> list[tuple[int, Part]]:
        starts = [sum(part.minutes for part in self.parts[:at]) for at in range(len(self.parts))]
        return list(zip(starts, self.parts, strict=True))

    def training(self) -> list[tuple[int, int]]:
        """Return when runs train: from the end of the part that starts them to the part that looks at them."""
        starts = [start + part.minutes for start, part in self.timed() if part.runs == "start"]
        ends = [start for start, part in self.timed() if part.runs == "end"]
        return list(zip(starts, ends, strict=True))


def shared_runs(people: int, start: int, end: int, places: int, run_seconds: float) -> tuple[int, tuple[float, ...]]:
    """Share `places` runs at a time, of `run_seconds` each, among `people`, from one minute of a workshop to another.

    Returns the people in the largest group, and the minute in which each group's run starts. One run at least is
    planned, even where it will not be done in time.
    """
    each = run_seconds + PREPARING_SECONDS
    most = max(1, places * math.floor(60 * (end - start) / each))
    largest = math.ceil(people / most)
    return largest, tuple(start + at // places * each / 60 for at in range(math.ceil(people / largest)))


#: What the leader does in every lesson.
IN_EACH_LESSON = Message(
    "In each lesson: call everyone to it and let them look; each predicts alone, then explains the prediction to a "
    "neighbor; reveal, and let somebody who was wrong say what they had expected; then open the steps that show it."
)
_TEXT = (resources.files(__package__) / "plans.toml").read_text(encoding="utf-8")
PLANS = TypeAdapter(tuple[Plan, ...]).validate_python(tomllib.loads(_TEXT)["plans"])
