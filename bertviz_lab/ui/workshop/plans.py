"""The plans of a workshop, in plans.toml, the clock of the one under way, and who trains when.

A machine trains few models at a time, so groups share runs.
"""

import math
import tomllib
from dataclasses import dataclass, replace
from importlib import resources
from typing import Any, ClassVar, Literal

from pydantic import TypeAdapter

from bertviz_lab.jobs.runs import PREPARING_SECONDS
from bertviz_lab.ui.languages import Message
from bertviz_lab.ui.lessons import LESSONS


@dataclass(frozen=True)
class Part:
    """A part of a workshop."""

    TEXTS: ClassVar = ("title", "say")

    minutes: int  # including the discussion
    say: str  # what the leader says, and the projector shows
    title: str = ""  # "" for a lesson, which has its own
    lesson: int = 0  # its number; 0 for none
    exam: Literal["", "before", "after"] = ""  # a sitting of the exam
    opens: str = ""  # the view or form to which everybody is led (PLACES of lessons/lesson.py)
    runs: Literal["", "start", "end"] = ""  # whether runs are started or looked at; they train in between
    slack: bool = False  # time that makes up for what took longer


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


@dataclass(frozen=True)
class PlanUnderWay:
    """A plan that a leader follows. Times are seconds on one clock, what is returned is minutes."""

    plan: Plan
    began: float
    part_began: float
    at: int = 0  # the index of the part of the moment

    @property
    def part(self) -> Part:
        return self.plan.parts[self.at]

    @property
    def next_part(self) -> Part | None:
        return self.plan.parts[self.at + 1] if self.at + 1 < len(self.plan.parts) else None

    def moved(self, steps: int, now: float) -> "PlanUnderWay | None":
        """Return the plan at a later or an earlier part, None before its first one and after its last."""
        at = self.at + steps
        return replace(self, at=at, part_began=now) if 0 <= at < len(self.plan.parts) else None

    def minute(self, now: float) -> float:
        return (now - self.began) / 60

    def left(self, now: float) -> float:
        """Return how long the part still lasts; below 0 it has taken longer than planned."""
        return self.part.minutes - (now - self.part_began) / 60

    def behind(self, now: float) -> float:
        """Return how much later than planned the part ends, if it ends on time or is over now; below 0 earlier."""
        planned, _ = self.plan.timed()[self.at]
        return self.minute(self.part_began) - planned + max(0.0, -self.left(now))

    def slack(self, now: float) -> float:
        """Return the slack that is left, in this part and later ones."""
        later = sum(part.minutes for part in self.plan.parts[self.at + 1 :] if part.slack)
        return later + (max(0.0, self.left(now)) if self.part.slack else 0.0)

    def until_runs_are_shown(self, now: float) -> tuple[Part, float] | None:
        """Return the part that looks at the runs of now, and the time until it begins; None where none train."""
        if self.part.runs == "end":
            return self.part, 0.0
        wait = max(0.0, self.left(now))
        for part in self.plan.parts[self.at + 1 :]:
            if part.runs:
                return (part, wait) if part.runs == "end" else None
            wait += part.minutes
        return None


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


def _read() -> tuple[Plan, ...]:
    """Return the plans; a lesson has its own minutes, and what is said in it from the list for all plans."""
    content: dict[str, Any] = tomllib.loads((resources.files(__package__) / "plans.toml").read_text(encoding="utf-8"))
    for plan in content["plans"]:
        for part in plan["parts"]:
            if "lesson" in part:
                part["say"] = content["lessons"][str(part["lesson"])]
                part["minutes"] = LESSONS[part["lesson"] - 1].room_minutes
    return TypeAdapter(tuple[Plan, ...]).validate_python(content["plans"])


PLANS = _read()
