"""The lessons of three hours: what they say, what is measured to prove it, and the sheet that is handed out.

In reading order: `texts/` (a file for each lesson, and the texts on which its claim is tried), `lesson` (what one is
made of), the measurements `claims` (lessons 1 to 5 and 8), `training_claims` (6, 7, 13 and 15), `encoder_claims` (9
to 12 and 14) and `further_claims` (16 to 21), `measuring`, and `exam`.
"""

from bertviz_lab.ui.lessons.lesson import LESSONS, PLACES, Choice, Finding, Lesson, Place, Step

__all__ = ["LESSONS", "PLACES", "Choice", "Finding", "Lesson", "Place", "Step"]
