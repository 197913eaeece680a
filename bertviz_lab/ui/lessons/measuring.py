"""What a lesson says, with the numbers in it: measured on the models of this page, once for each version of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bertviz_lab.errors import InputError
from bertviz_lab.ui.lessons.lesson import Finding, Lesson, Step
from bertviz_lab.ui.state.app_state import AppState

_OTHERWISE = (
    "This lesson was written for a model with other predictions. What follows was measured on the model that is here."
)


@dataclass(frozen=True)
class Measured:
    """A lesson after its measurement: nothing is left in braces."""

    lesson: Lesson
    finding: Finding

    @property
    def answer(self) -> int | None:
        """The choice that is right for the model that is here; None where the measurement bears out none."""
        return self.finding.answer

    @property
    def paragraphs(self) -> tuple[str, ...]:
        """What the numbers say."""
        told = tuple(text for text in (_filled(text, self.finding.numbers) for text in self.lesson.reveal) if text)
        found = (*told, f"This holds for {self.finding.held} of {self.finding.cases} {self.lesson.cases}.")
        return found if self.answer == self.lesson.answer else (_OTHERWISE, *found)

    @property
    def proof(self) -> tuple[Step, ...]:
        """What to look at after it."""
        return self._steps(self.lesson.proof)

    @property
    def steps(self) -> tuple[Step, ...]:
        """All that can be set up, in order."""
        return self._steps(self.lesson.steps)

    def _steps(self, steps: tuple[Step, ...]) -> tuple[Step, ...]:
        numbers = self.finding.numbers
        return tuple(Step(_filled(step.text, numbers), step.place.filled(numbers)) for step in steps)

    def body(self) -> dict[str, Any]:
        """The same for the page."""
        return {
            "answer": self.answer,
            "why": [choice.why for choice in self.lesson.choices],
            "paragraphs": self.paragraphs,
            "bars": self.finding.bars,
            "code": self.lesson.source_code(),
            "proof": [step_body(step, self.lesson) for step in self.proof],
        }


def measure(session: AppState, lesson: Lesson) -> Measured:
    """Measure what a lesson says. Raises `InputError` where its model is not there."""
    models = session.models
    if lesson.model not in models.shipped():  # and is not looked for anywhere else
        raise InputError(f"This copy of the lab has no model {lesson.model}, so there is nothing to measure.")
    key = ("lesson", lesson.number, models.version(lesson.model))
    return Measured(lesson, session.remembered(key, lambda: lesson.claim(session, lesson)))


def step_body(step: Step, lesson: Lesson) -> dict[str, Any]:
    """A step of a lesson for the page, with the place that is opened."""
    return {"text": step.text, "name": step.place.name, "place": step.place.opening(lesson.model)}


def _filled(text: str, numbers: Mapping[str, str]) -> str:
    return text.format_map(numbers)
