"""The lessons of two hours: what they say, what is measured to hold it, and the sheet that is handed out."""

from bertviz_lab.ui.lessons.attention_and_training import ATTENTION_AND_TRAINING
from bertviz_lab.ui.lessons.encoder import ENCODER
from bertviz_lab.ui.lessons.lesson import PLACES, Choice, Finding, Lesson, Place, Step
from bertviz_lab.ui.lessons.objectives import OBJECTIVES
from bertviz_lab.ui.lessons.transfer import TRANSFER

LESSONS = OBJECTIVES + ATTENTION_AND_TRAINING + ENCODER + TRANSFER

__all__ = ["LESSONS", "PLACES", "Choice", "Finding", "Lesson", "Place", "Step"]
