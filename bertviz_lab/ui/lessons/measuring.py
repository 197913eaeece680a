"""What a lesson says, with the numbers in it: measured on the models of this page, once for each version of them."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bertviz_lab.errors import InputError
from bertviz_lab.ui.languages import ENGLISH, Language, Message, translated
from bertviz_lab.ui.lessons import claims, encoder_claims, further_claims, training_claims
from bertviz_lab.ui.lessons.lesson import Control, Finding, Lesson, Place, Step
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.templates import render

#: What measures each lesson, by its number; no number of a lesson is written down.
CLAIMS: dict[int, Callable[[AppState, Lesson], Finding]] = dict(enumerate((
    claims.right_context, claims.masking, claims.segments, claims.embeddings, claims.values,
    training_claims.classifier, training_claims.curves, claims.explanation,
    encoder_claims.wordpiece, encoder_claims.residual, encoder_claims.padding, encoder_claims.generation,
    training_claims.pretrain_once, encoder_claims.family, training_claims.kinds_of_error,
    further_claims.cost, further_claims.span_corruption, further_claims.answers, further_claims.writing,
    further_claims.reach, further_claims.heads,
), 1))  # fmt: skip
_OTHERWISE = Message(
    "This lesson was written for a model with other predictions. What follows was measured on the model that is here."
)


@dataclass(frozen=True)
class Measured:
    """A lesson in the language of `say` after its measurement: nothing is left in braces."""

    lesson: Lesson
    finding: Finding
    say: Language = ENGLISH

    @property
    def answer(self) -> int | None:
        """Return the choice that is right for the model that is here; None where none is confirmed."""
        return self.finding.answer

    @property
    def paragraphs(self) -> tuple[str, ...]:
        reveal = tuple(text for text in map(self._filled, self.lesson.reveal) if text)
        held, cases = sum(self.finding.held), len(self.finding.held)
        share = self.say("This holds for {held} of {cases} {texts}.", held=held, cases=cases, texts=self.lesson.cases)
        caution = () if self.answer == self.lesson.answer else (self.say.translate(_OTHERWISE),)
        return (*caution, *reveal, share)

    @property
    def control(self) -> Control:
        control = self.lesson.control
        (step,) = self._steps((control.step,))
        return Control(self._filled(control.rival), step, self._filled(control.told))

    @property
    def proof(self) -> tuple[Step, ...]:
        return self._steps(self.lesson.proof)

    @property
    def steps(self) -> tuple[Step, ...]:
        return self._steps(self.lesson.steps)

    def _steps(self, steps: tuple[Step, ...]) -> tuple[Step, ...]:
        return tuple(Step(self._filled(step.text), step.place.filled(self.finding.numbers)) for step in steps)

    def _filled(self, text: str) -> str:
        return text.format_map({name: self.say.translate(value) for name, value in self.finding.numbers.items()})


def measure(session: AppState, lesson: Lesson, say: Language = ENGLISH) -> Measured:
    """Measure a lesson, once for all languages. Raises `InputError` if its model is not there."""
    models = session.models
    if lesson.model not in models.shipped():  # and is not looked for anywhere else
        raise InputError(
            say("This copy of the lab has no model {model}, so there is nothing to measure.", model=lesson.model)
        )
    key = ("lesson", lesson.number, models.version(lesson.model))
    try:
        finding = session.remembered(key, lambda: CLAIMS[lesson.number](session, lesson))
    except InputError as error:
        raise InputError(say.translate(error.args[0])) from error
    return Measured(translated(lesson, say), finding, say)


@dataclass(frozen=True)
class Published:
    """What a published page has: lessons by their numbers, models, and views of Explore."""

    lessons: Collection[int]
    models: Collection[str]
    views: Collection[str]


def lesson_page(
    lesson: Lesson,
    say: Language,
    *,
    missing: bool = False,
    measured: Measured | None = None,
    chosen: int | None = None,
    guesses: Mapping[int, int] | None = None,
    published: Published | None = None,
) -> str:
    """Return a lesson in the language of `say` as HTML: before its measurement, or with `measured` after it.

    Of a lesson whose model is `missing`, places keep the model that is chosen. `chosen` is the choice that was
    predicted, and `guesses` how often a workshop's room predicted each. On a page that is `published`, places that it
    does not have are named only.
    """
    numbers = CLAIMS if published is None else published.lessons
    following = min((number for number in numbers if number > lesson.number), default=None)

    def is_reachable(place: Place) -> bool:
        named = {place.model or lesson.model, *filter(None, [place.other])}
        return published is None or (place.view in published.views and named <= {*published.models})

    def opening(step: Step) -> dict[str, Any]:
        place = step.place.opening(lesson.model)
        if missing:
            place.get("input", {}).pop("model", None)
        return place | {"lesson": {"number": lesson.number, "title": lesson.title, "text": step.text}}

    counts = [(guesses or {}).get(at, 0) for at in range(len(lesson.choices))]
    total = sum(counts)
    room = [
        (choice.text.replace("`", ""), count / (total or 1), say("{count} of {total}", count=count, total=total))
        for choice, count in zip(lesson.choices, counts, strict=True)
    ]
    return render(
        "views/lessons/lesson.html", say, lesson=lesson, count=len(CLAIMS), missing=missing, opening=opening,
        measured=measured, chosen=chosen, room=None if guesses is None else room, is_reachable=is_reachable,
        following=following, is_published=published is not None, table=table_of(lesson, say),
    )  # fmt: skip


def table_of(lesson: Lesson, say: Language) -> list[list[str]]:
    """Return the table of a lesson in a language; a cell without a letter is a number."""
    return [[say(cell) if any(map(str.isalpha, cell)) else say.number(cell) for cell in row] for row in lesson.table]


def handout_page(
    lessons: Sequence[Lesson], measured: Sequence[Measured], address: str = "", say: Language = ENGLISH
) -> str:
    """Return the sheet that is handed out, a page that works offline.

    `measured` are the lessons whose answers follow; without any it is the participants' sheet. `address` is where the
    page of the lab is found, "" if unknown.
    """
    return render(
        "lessons/handout.html", say, lessons=translated(tuple(lessons), say), measured=measured, address=address
    )
