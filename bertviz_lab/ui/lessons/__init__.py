"""Eight lessons: what they say, what is measured to hold it, and the sheet that is handed out."""

from bertviz_lab.ui.lessons.attention_and_training import ATTENTION_AND_TRAINING
from bertviz_lab.ui.lessons.lesson import PLACES, Choice, Finding, Lesson, Place, Step
from bertviz_lab.ui.lessons.objectives import OBJECTIVES

LESSONS = OBJECTIVES + ATTENTION_AND_TRAINING

__all__ = ["LESSONS", "PLACES", "Choice", "Finding", "Lesson", "Place", "Step"]
