"""Learn: eight lessons that lead through the tabs, each with a question to predict before its answer is measured."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import gradio as gr
from anyio import CapacityLimiter, to_thread

from bertviz_lab.errors import InputError
from bertviz_lab.figures.payload import Payload, message_payload, to_json
from bertviz_lab.ui import links
from bertviz_lab.ui.app_state import AppState
from bertviz_lab.ui.components.lesson_bar import bar_payload
from bertviz_lab.ui.components.lesson_view import lesson_view
from bertviz_lab.ui.error_handling import clicked, sentence_of
from bertviz_lab.ui.lessons import LESSONS, Lesson, Place, Step, lesson
from bertviz_lab.ui.lessons.handout import handout_page
from bertviz_lab.ui.lessons.measuring import Measured, measure, step_body
from bertviz_lab.ui.view_contract import QUIET, Tab

#: What a lesson is about where it is about no folded part, and stands too low to be seen at once.
_FAR_DOWN = {"attention": "attention-grid"}
_LEFT = (gr.skip(), gr.skip())  # a part that stays as it is, and whether it is open
_AT_ONCE = 2  # measurements of all visitors together
_ADDRESS = re.compile(r"https?://[\w.:\[\]-]+/[\w./-]*")


@dataclass(frozen=True)
class Learn:
    """The lessons, and the bar that leads back to them from wherever one of them has led."""

    session: AppState
    view: gr.HTML
    bar: gr.HTML

    def join(self, tabs: gr.Tabs, picker: gr.Dropdown, looking: Sequence[Tab], refresh: Callable[[Any], None]) -> None:
        """Join what crosses the border of this tab: a click here fills in another tab and goes there.

        `refresh(event)` shows the chosen model in every tab after an event.
        """
        fields = [component for tab in looking for component in tab.fields.values()]
        folds = [part for tab in looking for fold in tab.parts for part in (fold.accordion, fold.is_open)]
        shown = [self.bar, picker, tabs, *fields, *folds]
        refresh(self.view.set_up(clicked(partial(self.set_up, looking)), None, shown, **QUIET))
        self.bar.back(None, None, tabs, js="() => ({ __type__: 'update', selected: 'learn' })", **QUIET)

    def set_up(self, looking: Sequence[Tab], data: dict[str, Any]) -> tuple[Any, ...]:
        """A button of a lesson: the bar, the model, the tab, and what is filled in and opened there."""
        chosen, number = (value if isinstance(value, int) else -1 for value in (data.get("lesson"), data.get("step")))
        asked = lesson(chosen)
        if asked is None or not 0 <= number < len(asked.steps):
            return (gr.skip(),) * (3 + sum(len(tab.fields) + 2 * len(tab.parts) for tab in looking))
        step = self._step(asked, number)
        place = step.place
        folds = [(fold, (tab.id, fold.name) == (place.tab, place.part)) for tab in looking for fold in tab.parts]
        about = next((fold.accordion.elem_id for fold, meant in folds if meant), _FAR_DOWN.get(place.tab, ""))
        fields = [
            update
            for tab in looking
            for update in (
                links.fresh_fields(place.fields, tab.fields) if tab.id == place.tab else [gr.skip()] * len(tab.fields)
            )
        ]
        return (
            bar_payload(asked.number, asked.title, step.text, scroll_to=about or ""),
            asked.model if asked.model in self.session.models.shipped() else gr.skip(),
            gr.Tabs(selected=place.tab),
            *fields,
            *(update for _, meant in folds for update in ((gr.Accordion(open=True), True) if meant else _LEFT)),
        )

    def _step(self, asked: Lesson, number: int) -> Step:
        """A step with what was measured in it; those before the question hold no numbers and wait for none."""
        step = asked.steps[number]
        if number < len(asked.look):
            return step
        try:
            return measure(self.session, asked).steps[number]
        except InputError as error:
            return Step(str(error), Place(step.place.tab))


def create_learn(session: AppState, bar: gr.HTML) -> Learn:
    """Draw the tab; `Learn.join` joins it to the others."""
    lane = CapacityLimiter(_AT_ONCE)

    # Gradio hands over a single argument as it is.
    async def measured(number: Any) -> str:
        return await to_thread.run_sync(partial(told, session, number), limiter=lane)

    async def handout(address: Any) -> str:
        return await to_thread.run_sync(partial(sheet, session, address), limiter=lane)

    view = lesson_view(lessons_payload(session), server_functions=[measured, handout], elem_id="lessons")
    return Learn(session, view, bar)


def lessons_payload(session: AppState) -> Payload:
    """All lessons as they are before anything is measured."""
    shipped = session.models.shipped()
    return to_json(
        {
            "lessons": [
                {
                    "number": each.number,
                    "title": each.title,
                    "minutes": each.minutes,
                    "model": each.model,
                    "missing": each.model not in shipped,
                    "idea": each.idea,
                    "look": [step_body(step) for step in each.look],
                    "example": each.example,
                    "question": each.question,
                    "choices": each.choices,
                    "formula": each.formula,
                    "formula_says": each.formula_says,
                    "source": each.source,
                    "measured_by": each.measured_by,
                }
                for each in LESSONS
            ]
        }
    )


def told(session: AppState, number: Any) -> str:
    """What a lesson's measurement says, for the page; one sentence where its model is not there."""
    try:
        chosen = lesson(int(number))
        if chosen is None:
            raise InputError(f"There is no lesson {number}.")
        return to_json(measure(session, chosen).body())
    except Exception as error:  # whatever happens, the page must live on
        return message_payload(sentence_of(error))


def sheet(session: AppState, address: Any) -> str:
    """The handout. `address` is where the browser has found the page; it is written down where it is one."""
    where = address if isinstance(address, str) and _ADDRESS.fullmatch(address[:200]) else ""
    found: list[Measured] = []
    for each in LESSONS:
        try:
            found.append(measure(session, each))
        except InputError:
            continue  # its model is not there: the question stays, the answer is left out
    return handout_page(LESSONS, found, where)
