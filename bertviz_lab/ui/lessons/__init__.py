"""The lessons of two hours: what they say, what is measured to hold it, and the sheet that is handed out."""

from bertviz_lab.ui.lessons.attention_and_training import ATTENTION_AND_TRAINING
from bertviz_lab.ui.lessons.lesson import PLACES, Choice, Finding, Lesson, Place, Step
from bertviz_lab.ui.lessons.objectives import OBJECTIVES
from bertviz_lab.ui.lessons.second_hour import SECOND_HOUR

LESSONS = OBJECTIVES + ATTENTION_AND_TRAINING + SECOND_HOUR

__all__ = ["LESSONS", "PLACES", "Choice", "Finding", "Lesson", "Place", "Step"]
