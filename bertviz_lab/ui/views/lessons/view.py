"""What Learn asks: the lessons, and what is measured in one."""

from typing import Annotated, Any

from pydantic import Field

from bertviz_lab.errors import InputError
from bertviz_lab.ui.languages import language_of, translated
from bertviz_lab.ui.lessons import LESSONS
from bertviz_lab.ui.lessons.measuring import measure, step_body
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.view import View, Word, questions

#: What is not an answer.
_TOLD = (
    *("number", "title", "minutes", "hour", "model", "idea", "example", "question"),
    *("formula", "formula_says", "source", "measured_by"),
)
_Number = Annotated[int, Field(ge=1, le=len(LESSONS))]


def lessons(state: AppState, language: Word = "") -> list[dict[str, Any]]:
    """Return all lessons as they are before anything is measured."""
    shipped, say = state.models.shipped(), language_of(language, state.settings.language)
    return [
        {name: getattr(lesson, name) for name in _TOLD}
        | {
            "missing": lesson.model not in shipped,
            "look": [step_body(step, lesson, say) for step in lesson.look],
            "choices": [choice.text for choice in lesson.choices],
        }
        for lesson in translated(LESSONS, say)
    ]


def measured(state: AppState, number: _Number, language: Word = "") -> dict[str, Any]:
    """Return what a lesson's measurement says, and the steps after it.

    Raises `InputError` where its model is not there, and in a workshop before its leader has revealed the lesson.
    """
    say = language_of(language, state.settings.language)
    if state.room is not None and number not in state.room.revealed:
        raise InputError(say("The leader of this workshop has not revealed this lesson yet."))
    return measure(state, LESSONS[number - 1], say).body()


LEARN = View(
    "lessons",
    "Lessons",
    "Two hours of lessons, each with a question to predict before its answer is measured.",
    None,
    questions(lessons, slow=[measured]),
)
