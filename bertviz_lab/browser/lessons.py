"""The lessons of a published page, recorded: their measurements need gradients, training logs and time."""

from collections.abc import Sequence
from typing import Any

from bertviz_lab.ui.languages import language_of, languages, translated
from bertviz_lab.ui.lessons import LESSONS
from bertviz_lab.ui.lessons.measuring import Published, lesson_page, measure
from bertviz_lab.ui.state.app_state import AppState


def recorded_lessons(state: AppState, models: Sequence[str], views: Sequence[str]) -> dict[str, Any]:
    """Return the lessons on these models, with places in these views: {language: {"lessons": [...], "measured": ...}}.

    `lessons` are as the page asks for them; `measured` has for each number its pages after the measurement: "" where
    nothing was predicted, else the choice. {} where no lesson is on one of the models.
    """
    chosen = [lesson for lesson in LESSONS if lesson.model in models]
    published = Published([lesson.number for lesson in chosen], models, views)
    recorded = {}
    for code in dict(languages()) if chosen else ():
        say = language_of(code, code)
        listed = [
            lesson.listed | {"page": lesson_page(lesson, say, published=published)}
            for lesson in translated(tuple(chosen), say)
        ]
        pages = {}
        for lesson in chosen:
            answer = measure(state, lesson, say)
            choices = [None, *range(len(lesson.choices))]
            pages[lesson.number] = {
                "" if at is None else at: lesson_page(
                    answer.lesson, say, measured=answer, chosen=at, published=published
                )
                for at in choices
            }
        recorded[code] = {"lessons": listed, "measured": pages}
    return recorded
