"""What Learn asks: the lessons, each with a question to predict before its answer is measured, and the final exam.

Their texts are in `ui/lessons`; `lesson.html` is one lesson, before its measurement and after it. `lessons.js` has the
list of lessons and shows the one that is open, keeps what is done, joins the room of a workshop, and draws the line
above a place that a lesson has opened, which leads back. `exam.js` shows the exam of `ui/lessons/exam`.
"""

from datetime import date
from typing import Annotated, Any

from pydantic import Field, StringConstraints

from bertviz_lab.errors import InputError
from bertviz_lab.ui.languages import Language, language_of, translated
from bertviz_lab.ui.lazy import Checkpoint
from bertviz_lab.ui.lessons import LESSONS
from bertviz_lab.ui.lessons import exam as final
from bertviz_lab.ui.lessons.lesson import TOWN
from bertviz_lab.ui.lessons.measuring import lesson_page, measure
from bertviz_lab.ui.server.visitors import Visitor
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.view import Index, Word, questions

_Number = Annotated[int, Field(ge=1, le=len(LESSONS))]
_Seed = Annotated[int, Field(ge=1, le=999_999)]
_Task = Annotated[int, Field(ge=1, le=final.COUNT)]
_Hints = Annotated[int, Field(ge=0, le=2)]
_Answers = Annotated[list[Annotated[str, StringConstraints(max_length=400)]], Field(max_length=20)]


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


def exam(
    state: AppState,
    seed: _Seed,
    answers: dict[_Task, _Answers],
    hints: dict[_Task, _Hints],
    language: Word = "",
) -> list[str]:
    """Return the tasks of the exam of a seed as HTML, those that have `answers` with their keys."""
    say = language_of(language, state.settings.language)
    town = _town(state, say)
    return [
        final.task_page(final.task_of(seed, number, town), number, say, hints.get(number, 0), answers.get(number))[0]
        for number in range(1, final.COUNT + 1)
    ]


def exam_task(
    state: AppState,
    seed: _Seed,
    number: _Task,
    hints: _Hints,
    visitor: Visitor,
    answers: _Answers | None = None,
    language: Word = "",
) -> str:
    """Return a task with so many hints, and once its answers are handed in with its key.

    In a workshop whose leader has called the room to the exam, the points are counted there.
    """
    say = language_of(language, state.settings.language)
    town = _town(state, say)
    page, marked = final.task_page(final.task_of(seed, number, town), number, say, hints, answers)
    if marked is not None and state.room is not None:
        state.room.mark(visitor, number, marked.points)
    return page


def certificate(
    state: AppState,
    seed: _Seed,
    name: Word,
    answers: dict[_Task, _Answers],
    hints: dict[_Task, _Hints],
    language: Word = "",
) -> str:
    """Return the certificate of an exam, a document to print."""
    say = language_of(language, state.settings.language)
    return final.certificate_page(seed, name, answers, hints, _town(state, say), say, date.today())


def _town(state: AppState, say: Language) -> Checkpoint:
    if TOWN not in state.models.shipped():
        raise InputError(say("This copy of the lab has no model {model}, so there is no exam.", model=TOWN))
    return state.models.open(TOWN)


QUESTIONS = questions(lessons, slow=[measured, exam, exam_task, certificate])
