"""Eight lessons: what they say, what is measured to hold it, and the sheet that is handed out."""

from bertviz_lab.ui.lessons.games import GAMES
from bertviz_lab.ui.lessons.inside import INSIDE
from bertviz_lab.ui.lessons.lesson import PLACES, Finding, Lesson, Place, Step

LESSONS = GAMES + INSIDE

__all__ = ["LESSONS", "PLACES", "Finding", "Lesson", "Place", "Step"]
