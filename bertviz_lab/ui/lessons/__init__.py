"""The lessons of two hours: what they say, what is measured to hold it, and the sheet that is handed out.

In reading order: `lesson` (what one is made of); `objectives` (lessons 1 to 4), `attention_and_training` (5 to 8),
`encoder` (9 to 12), `transfer` (13 to 15); `measuring` with `cases` (the texts), and the measurements `claims` (1 to
4), `attention_claims` (5 and 8), `training_claims` (6 and 7), `second_hour_claims` (9 to 15); `handout`.
"""

from bertviz_lab.ui.lessons.attention_and_training import ATTENTION_AND_TRAINING
from bertviz_lab.ui.lessons.encoder import ENCODER
from bertviz_lab.ui.lessons.lesson import PLACES, Choice, Finding, Lesson, Place, Step
from bertviz_lab.ui.lessons.objectives import OBJECTIVES
from bertviz_lab.ui.lessons.transfer import TRANSFER

LESSONS = OBJECTIVES + ATTENTION_AND_TRAINING + ENCODER + TRANSFER

__all__ = ["LESSONS", "PLACES", "Choice", "Finding", "Lesson", "Place", "Step"]
