"""Questions to Python past Gradio's queue, for answers that come in milliseconds.

Gradio tells every component of a queued event's progress, and looks for each one by walking through the whole page:
on a page like this one that takes a browser longer than a small model takes to answer.
"""

import contextlib
import json
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextvars import ContextVar
from typing import Any

import gradio as gr
from anyio import CapacityLimiter, to_thread
from gradio.components import Component

from bertviz_lab.figures.payload import message_payload
from bertviz_lab.ui.components.assemble import Assembly, component
from bertviz_lab.ui.error_handling import sentence_of

DIRECT = Assembly("direct", ("direct.js",), ("direct.css",))

_AT_ONCE, _SLOW_AT_ONCE = 8, 2  # questions of all visitors together


class Rpc:
    """The line between a page and its handlers; to be made inside the page and outside its tabs, to be at hand."""

    def __init__(self) -> None:
        #: Each handler, how many values it gives, and whether it is slow.
        self._handlers: list[tuple[Callable[..., Any], int, bool]] = []
        # Lanes of their own: who waits here takes no thread from Gradio, and the slow hold up each other only.
        self._lanes = {False: CapacityLimiter(_AT_ONCE), True: CapacityLimiter(_SLOW_AT_ONCE)}
        self._done: dict[str, float] = {}  # of each question that is at work, the share that is done
        functions: list[Callable[..., Any]] = [self._answer_function(), self._progress_function()]
        component(DIRECT, value="", label="What the server is doing", server_functions=functions, elem_id="direct")

    def ask(
        self,
        event: Callable[..., Any],
        handler: Callable[..., Any],
        inputs: Sequence[Component],
        outputs: Component | Sequence[Component],
        *,
        guarded: bool = False,
        slow: bool = False,
    ) -> Any:
        """Answer an event of the page by `handler(*inputs)`, whose values, one or a tuple, go to `outputs`.

        Of questions by one event that wait, the newest counts; those before it are not answered. With `guarded` the
        first input says whether to ask at all; `slow` is what can take seconds. The handler may give updates of
        components, but what Gradio does to a component's value on its way to the page is left out: strings and
        numbers, no files or plots. The last output has to show a sentence where something goes wrong.

        Nor does Gradio check the values on their way here. Raises `ValueError` for a component that holds files: a
        visitor could name any path of the server.
        """
        if any(isinstance(component, (gr.File, gr.UploadButton)) for component in inputs):
            raise ValueError("Files go by Gradio's own events, which accept uploaded ones only.")
        parts = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
        number = len(self._handlers)
        self._handlers.append((handler, len(parts), slow))
        script = f"(...inputs) => window.labAsk({number}, {len(parts)}, inputs, {json.dumps(guarded)})"
        return event(
            None,
            list(inputs),
            parts,
            js=script,
            api_visibility="private",
            show_progress="hidden",
            show_progress_on=[],
        )

    def _answer_function(self) -> Callable[[list[Any]], Awaitable[str]]:
        async def answer(arguments: list[Any]) -> str:
            ticket, number, *inputs = arguments
            handler, count, slow = self._handlers[int(number)]
            try:
                with self._telling(str(ticket)):
                    found = await to_thread.run_sync(handler, *inputs, limiter=self._lanes[slow])
            except Exception as error:  # a mistake of ours: handlers answer with a sentence of their own
                found = [gr.skip()] * (count - 1) + [message_payload(sentence_of(error))]
            return json.dumps(list(found) if isinstance(found, (tuple, list)) else [found])

        return answer

    def _progress_function(self) -> Callable[[str], Awaitable[float]]:
        async def progress(ticket: str) -> float:  # Gradio hands over a single argument as it is
            return self._done.get(str(ticket), 0.0)

        return progress

    @contextlib.contextmanager
    def _telling(self, ticket: str) -> Iterator[None]:
        """What `tell_progress` is told meanwhile belongs to this question."""
        reset = _TOLD.set(lambda share: self._done.__setitem__(ticket, share))
        try:
            yield
        finally:
            _TOLD.reset(reset)
            self._done.pop(ticket, None)


_TOLD: ContextVar[Callable[[float], None] | None] = ContextVar("told", default=None)


def tell_progress(share: float) -> None:
    """Say how much of the question that is being answered is done, 0 to 1; the page shows it where it takes long."""
    tell = _TOLD.get()
    if tell is not None:
        tell(share)
