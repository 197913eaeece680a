"""What Learn asks: the lessons, each with a question to predict before its answer is measured.

Their texts are in `ui/lessons`; `lesson.html` is one lesson, before its measurement and after it. `lessons.js` has the
list of lessons and shows the one that is open, keeps what is done, joins the room of a workshop, and draws the line
above a place that a lesson has opened, which leads back.
"""

from typing import Annotated, Any

from pydantic import Field

from bertviz_lab.errors import InputError
from bertviz_lab.ui.languages import language_of, translated
from bertviz_lab.ui.lessons import LESSONS
from bertviz_lab.ui.lessons.measuring import lesson_page, measure
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.view import Index, Word, questions

_Number = Annotated[int, Field(ge=1, le=len(LESSONS))]


def lessons(state: AppState, language: Word = "") -> list[dict[str, Any]]:
    """Return all lessons as they are before anything is measured; `page` is what is shown of one."""
    shipped, say = state.models.shipped(), language_of(language, state.settings.language)
    return [
        lesson.listed | {"page": lesson_page(lesson, say, missing=lesson.model not in shipped)}
        for lesson in translated(LESSONS, say)
    ]


def measured(state: AppState, number: _Number, language: Word = "", chosen: Index | None = None) -> str:
    """Return a lesson with what its measurement says, and the steps after it, as HTML; `chosen` was predicted.

    Raises `InputError` where its model is not there, and in a workshop before its leader has revealed the lesson.
    """
    say, room = language_of(language, state.settings.language), state.room
    if room is not None and number not in room.revealed:
        raise InputError(say("The leader of this workshop has not revealed this lesson yet."))
    answer = measure(state, LESSONS[number - 1], say)
    guesses = None if room is None else room.counts(number).guesses
    return lesson_page(answer.lesson, say, measured=answer, chosen=chosen, guesses=guesses)


QUESTIONS = questions(lessons, slow=[measured])
