"""The line between the page's scripts and Python: every question of every view goes through one function.

Such calls pass by Gradio's queue and by its checks of values. So each argument is checked here against the types that
its question declares, and none is ever a file or a path of an upload. What changes something that others see (an
upload, the start of a training) goes by Gradio's own events.
"""

import contextlib
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextvars import ContextVar
from typing import Any

import gradio as gr
from anyio import CapacityLimiter, to_thread

from bertviz_lab.errors import InputError
from bertviz_lab.figures.payload import Payload, to_json
from bertviz_lab.ui.components.assemble import Assembly, component
from bertviz_lab.ui.server.error_handling import sentence_of
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.view import Question, View

WIRE = Assembly("wire", ("client/wire.js",), ("client/wire.css",))

_AT_ONCE, _SLOW_AT_ONCE = 8, 2  # questions of all visitors together


class Questions:
    """Answers the questions of the views."""

    def __init__(self, state: AppState, views: Sequence[View]) -> None:
        self._state, self._views = state, views
        self._questions = {(view.id, name): asked for view in views for name, asked in view.questions.items()}
        # Lanes of their own: who waits here takes no thread from Gradio, and the slow hold up each other only.
        self._lanes = {False: CapacityLimiter(_AT_ONCE), True: CapacityLimiter(_SLOW_AT_ONCE)}
        self._progress: dict[str, float] = {}  # of each question at work that reports it, the share done

    def island(self, value: Payload) -> gr.HTML:
        """The end of the line in the page; `value` is what scripts are told as the page opens."""
        functions: list[Callable[..., Any]] = [self._answer_function(), self._progress_function()]
        return component(
            WIRE, value=value, label="What the server is doing", server_functions=functions, elem_id="wire"
        )

    def ask(self, view: str, name: str, arguments: dict[str, Any]) -> Any:
        """The answer to one question. Raises `InputError` where there is no such question or an argument is wrong."""
        return self._find(view, name).ask(self._state, arguments)

    def _find(self, view: Any, name: Any) -> Question:
        known = self._questions.get((view, name)) if isinstance(view, str) and isinstance(name, str) else None
        if known is None:
            raise InputError("The page asked something that this server does not know; reload it.")
        return known

    def _answer_function(self) -> Callable[[list[Any]], Awaitable[str]]:
        async def answer(sent: list[Any]) -> str:
            """`sent` is [ticket, view, question, arguments]; the answer is {"answer": ...} or {"error": a sentence}."""
            try:
                ticket, view, name, arguments = sent
                if not isinstance(arguments, dict):
                    raise InputError("The page asked without arguments; reload it.")
                asked = self._find(view, name)
                with self._reporting(str(ticket)[:40]):
                    result = await to_thread.run_sync(
                        asked.ask, self._state, arguments, limiter=self._lanes[asked.slow], abandon_on_cancel=False
                    )
                return f'{{"answer":{result}}}' if isinstance(result, Payload) else to_json({"answer": result})
            except Exception as error:  # whatever happens, the page must live on
                return to_json({"error": sentence_of(error)})

        return answer

    def _progress_function(self) -> Callable[[Any], Awaitable[float]]:
        async def progress(ticket: Any) -> float:  # Gradio hands over a single argument as it is
            return self._progress.get(str(ticket), 0.0)

        return progress

    @contextlib.contextmanager
    def _reporting(self, ticket: str) -> Iterator[None]:
        """What `tell_progress` is told meanwhile belongs to this question."""
        reset = _REPORT.set(lambda share: self._progress.__setitem__(ticket, share))
        try:
            yield
        finally:
            _REPORT.reset(reset)
            self._progress.pop(ticket, None)


_REPORT: ContextVar[Callable[[float], None] | None] = ContextVar("report", default=None)


def tell_progress(share: float) -> None:
    """Say how much of the question that is being answered is done, 0 to 1; the page shows it where it takes long."""
    report = _REPORT.get()
    if report is not None:
        report(share)
