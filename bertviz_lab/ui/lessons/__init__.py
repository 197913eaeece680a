"""Eight lessons: what they say, what is measured to hold it, and the sheet that is handed out."""

from bertviz_lab.ui.lessons.games import GAMES
from bertviz_lab.ui.lessons.inside import INSIDE
from bertviz_lab.ui.lessons.lesson import TABS, Finding, Lesson, Place, Step

LESSONS = GAMES + INSIDE

__all__ = ["LESSONS", "TABS", "Finding", "Lesson", "Place", "Step", "lesson"]


def lesson(number: int) -> Lesson | None:
    """The lesson of that number, 1 the first."""
    return LESSONS[number - 1] if 1 <= number <= len(LESSONS) else None
