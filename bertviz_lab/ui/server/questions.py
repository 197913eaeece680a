"""The line between the page's scripts and Python: every question of every view goes through one function.

Such calls pass by Gradio's queue and by its checks of values. So each argument is checked here against the types that
its question declares, and none is ever a file or a path of an upload. What changes something that others see (an
upload, the start of a training) goes by Gradio's own events.

Most answers are JSON and go by `server_functions`. Those with large arrays (attention weights) go as bytes by a route
of their own, which takes 21 ms for 786 KB where base64 in JSON takes 79.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, TypeVar

import gradio as gr
import numpy as np
from anyio import CapacityLimiter, to_thread
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bertviz_lab.errors import InputError
from bertviz_lab.figures.payload import Payload, little_endian, to_json
from bertviz_lab.ui.components.assemble import Assembly, component
from bertviz_lab.ui.server.access import is_logged_in
from bertviz_lab.ui.server.error_handling import sentence_of
from bertviz_lab.ui.server.visitors import visitor_of
from bertviz_lab.ui.server.waiting_line import Cancelled, Lane, Turn, WaitingLine
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.view import Question, View

WIRE = Assembly("wire", ("client/wire.js",), ("client/wire.css",))

ARRAYS_ROUTE = "lab-arrays"
_AT_ONCE, _SLOW_AT_ONCE = 8, 2  # questions of all visitors together
_MOST_WAITING = 200  # of all visitors together
_LOOK_SECONDS = 0.2  # between two looks whether the asker is still there
_MOST_SENT = 1_000_000  # bytes of a question
_LEFT, _DROPPED = "Whoever asked has left.", "A newer question has taken this one's place."
_UNKNOWN = "The page asked something that this server does not know; reload it."

ResultT = TypeVar("ResultT")


class Questions:
    """Answers the questions of the views."""

    def __init__(self, state: AppState, views: Sequence[View]) -> None:
        self._state, self._views = state, views
        self._questions = {(view.id, name): asked for view in views for name, asked in view.questions.items()}
        shared = state.settings.shared
        lanes = {
            "fast": Lane(_AT_ONCE, _AT_ONCE // 2 if shared else _AT_ONCE, 0.1),
            "slow": Lane(_SLOW_AT_ONCE, _SLOW_AT_ONCE // 2 if shared else _SLOW_AT_ONCE, 2.0),
        }
        self._line = WaitingLine(lanes, state.settings.limits.questions_waiting, _MOST_WAITING)
        self._turns: dict[str, Turn] = {}  # by ticket
        # Threads of their own: who computes here takes none from Gradio.
        self._threads = CapacityLimiter(sum(lane.places for lane in lanes.values()))

    def island(self, value: Payload) -> gr.HTML:
        """The end of the line in the page; `value` is what scripts are told as the page opens."""
        functions: list[Callable[..., Any]] = [self._answer_function(), self._progress_function()]
        functions.append(self._drop_function())
        return component(
            WIRE, value=value, label="What the server is doing", server_functions=functions, elem_id="wire"
        )

    def route(self) -> Route:
        """At `lab-arrays` [ticket, view, question, arguments] is posted; bytes come back, or {"error": a sentence}."""

        async def answer(request: Request) -> Response:
            if not await is_logged_in(request):
                return _refusal("Log in first.", 401)
            try:
                ticket, asked, name, arguments = self._read(await _body_of(request))
                visitor = visitor_of(request)
                with self._state.monitor.question(name):
                    content = await self._answer(
                        lambda: to_bytes(asked.ask(self._state, arguments, visitor)), asked, name, ticket, request
                    )
            except Exception as error:  # whatever happens, the page must live on
                return _refusal(sentence_of(error, shared=self._state.settings.shared))
            return Response(content, media_type="application/octet-stream", headers=_NOT_KEPT)

        return Route(f"/{ARRAYS_ROUTE}", answer, methods=["POST"])

    def _read(self, body: bytes) -> tuple[str, Question, str, dict[str, Any]]:
        """The ticket, a question for arrays, its name and its arguments. Raises as `_find`."""
        try:
            ticket, view, name, arguments = json.loads(body)
        except (ValueError, TypeError, RecursionError):
            raise InputError(_UNKNOWN) from None
        return ticket, self._find(view, name, arguments, arrays=True), f"{view}.{name}", arguments

    def _find(self, view: Any, name: Any, arguments: Any, *, arrays: bool) -> Question:
        """The question. Raises `InputError` where there is none of that name, or where it is asked another way."""
        known = self._questions.get((view, name)) if isinstance(view, str) and isinstance(name, str) else None
        if known is None or known.arrays != arrays:
            raise InputError(_UNKNOWN)
        if not isinstance(arguments, dict):
            raise InputError("The page asked without arguments; reload it.")
        return known

    # Gradio hands a server function its arguments as one list, a single one as it is, and the request to a parameter
    # of that type.

    def _answer_function(self) -> Callable[..., Awaitable[str]]:
        async def answer(sent: list[Any], request: gr.Request) -> str:
            """`sent` is [ticket, view, question, arguments]; the answer is {"answer": ...} or {"error": a sentence}."""
            try:
                ticket, view, name, arguments = sent
                asked, visitor = self._find(view, name, arguments, arrays=False), visitor_of(request)
                with self._state.monitor.question(f"{view}.{name}"):
                    result = await self._answer(
                        lambda: asked.ask(self._state, arguments, visitor), asked, f"{view}.{name}", ticket, request
                    )
                return f'{{"answer":{result}}}' if isinstance(result, Payload) else to_json({"answer": result})
            except Exception as error:  # whatever happens, the page must live on
                return to_json({"error": sentence_of(error, shared=self._state.settings.shared)})

        return answer

    async def _answer(
        self, compute: Callable[[], ResultT], asked: Question, name: str, ticket: Any, request: Any
    ) -> ResultT:
        """What `compute` gives when the question's turn has come. Raises `InputError` where it was cancelled."""
        turn = self._line.join(_place_of(request), name, "slow" if asked.slow else "fast")
        ticket = str(ticket)[:40]
        self._turns[ticket] = turn
        watcher = asyncio.create_task(self._cancel_when_left(turn, request))
        reset = _TELL.set(turn.tell)
        try:
            async with self._line.place(turn):
                return await to_thread.run_sync(compute, limiter=self._threads, abandon_on_cancel=False)
        except Cancelled:
            raise InputError(turn.cancelled) from None
        finally:
            _TELL.reset(reset)
            watcher.cancel()
            self._turns.pop(ticket, None)

    async def _cancel_when_left(self, turn: Turn, request: Any) -> None:
        """Cancel a question when its asker's connection is closed; `request` is that of Starlette."""
        while isinstance(request, Request) and not turn.cancelled:
            await asyncio.sleep(_LOOK_SECONDS)
            if await request.is_disconnected():
                self._line.cancel(turn, _LEFT)

    def _progress_function(self) -> Callable[[Any], Awaitable[dict[str, Any]]]:
        async def progress(ticket: Any) -> dict[str, Any]:
            """How much is computed, and while it waits, how many questions come first and for how many seconds."""
            turn = self._turns.get(str(ticket))
            before, seconds = (turn and self._line.ahead_of(turn)) or (None, None)
            return {"share": turn.share if turn else 0.0, "before": before, "seconds": seconds}

        return progress

    def _drop_function(self) -> Callable[..., Awaitable[None]]:
        async def drop(ticket: Any, request: gr.Request) -> None:
            """The page wants to know something else: its visitor's question need not be answered."""
            turn = self._turns.get(str(ticket))
            if turn and turn.visitor == _place_of(request):
                self._line.cancel(turn, _DROPPED)

        return drop


def to_bytes(body: Mapping[str, Any]) -> bytes:
    """An answer whose arrays travel as they are: a third shorter than base64, and neither end spells them out.

    The layout: the length of the JSON (uint32), the JSON, the arrays. The JSON has an entry `arrays`, a list of
    [name, type, start, length]; starts count in bytes from the end of the JSON. The JSON is padded with spaces and each
    array with zeros so that every array lies at a multiple of 8 bytes, where a browser reads it without a copy.
    """
    arrays = {name: value for name, value in body.items() if isinstance(value, np.ndarray)}
    places: list[list[Any]] = []
    parts: list[bytes] = []
    start = 0
    for name, array in arrays.items():
        part = little_endian(array)
        places.append([name, array.dtype.name, start, array.size])
        parts.append(part + bytes(-len(part) % 8))
        start += len(parts[-1])
    rest = {name: value for name, value in body.items() if name not in arrays}
    text = to_json(rest | {"arrays": places}).encode()
    text += b" " * (-(len(text) + 4) % 8)
    return b"".join((len(text).to_bytes(4, "little"), text, *parts))


_NOT_KEPT = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}


def _refusal(sentence: str, status: int = 200) -> Response:
    return Response(to_json({"error": sentence}), status, _NOT_KEPT, "application/json")


async def _body_of(request: Request) -> bytes:
    """What was posted. Raises `InputError` for more than any question of the page holds."""
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > _MOST_SENT:
            raise InputError("The text is too long; shorten it.")
    return body


def _place_of(request: Any) -> tuple[str, str]:
    """Whose question it is in a waiting line: places go round the addresses, then round the browsers of one."""
    visitor = visitor_of(request)
    return visitor.address, visitor.owner


_TELL: ContextVar[Callable[[float], None] | None] = ContextVar("tell", default=None)


def tell_progress(share: float) -> None:
    """Say how much of the question that is being answered is done, 0 to 1; the page shows it where it takes long.

    Raises `Cancelled` where nobody waits for the answer any more: what takes long calls this often.
    """
    tell = _TELL.get()
    if tell is not None:
        tell(share)
