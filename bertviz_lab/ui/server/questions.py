"""The one route of the page: every question of every view is posted to it.

Each argument is checked here against the types that its question declares, and none is a file or a path. Answers with
large arrays (attention weights) are sent as bytes, which takes 21 ms for 786 KB where base64 in JSON takes 79.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from safetensors.numpy import save
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bertviz_lab.errors import InputError
from bertviz_lab.figures.payload import Payload, to_json
from bertviz_lab.ui.guard.logins import is_logged_in, only_for
from bertviz_lab.ui.server.error_handling import sentence_of
from bertviz_lab.ui.server.visitors import visitor_of
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.view import View

ROUTE = "lab/ask"
FRESH = {"Cache-Control": "no-store"}  # headers of an answer that no browser keeps
_UNKNOWN = "Unknown request. Reload the page."


def questions_route(state: AppState, views: Sequence[View]) -> Route:
    """Return the route of all questions: {"ticket", "view", "question", "arguments"} is posted to `lab/ask`.

    The answer is {"answer": ...} or {"error": a sentence}, or packed arrays (`to_bytes`) where it holds large ones.
    """
    questions = {(view.id, name): asked for view in views for name, asked in view.questions.items()}

    async def ask(request: Request) -> Response:
        try:
            return await reply(await request.body(), request)
        except Exception as error:  # An error here must not take down the page.
            return fresh_json({"error": sentence_of(error, shared=state.settings.shared)})

    async def reply(body: bytes, request: Request) -> Response:
        try:
            sent = json.loads(body)
        except (ValueError, RecursionError):
            raise InputError(_UNKNOWN) from None
        if not isinstance(sent, dict):
            raise InputError(_UNKNOWN)
        view, name, arguments = sent.get("view"), sent.get("question"), sent.get("arguments", {})
        if not (isinstance(view, str) and isinstance(name, str) and isinstance(arguments, dict)):
            raise InputError(_UNKNOWN)
        visitor = visitor_of(request)
        # What is asked about a question that waits, or is computed, waits for no other.
        ticket = str(arguments.get("ticket", ""))[:40]
        if (view, name) == ("server", "progress"):
            return fresh_json({"answer": state.scheduler.progress(ticket)})
        if (view, name) == ("server", "cancel"):
            state.scheduler.cancel_ticket(ticket, visitor)
            return fresh_json({"answer": None})
        asked = questions.get((view, name))
        if asked is None:
            raise InputError(_UNKNOWN)

        def compute() -> Any:
            answer = asked.ask(state, arguments, visitor)
            return to_bytes(answer) if asked.arrays else answer

        named, ticket = f"{view}.{name}", str(sent.get("ticket", ""))[:40]
        with state.monitor.question(named):
            answer = await state.scheduler.answer(
                compute, visitor, named, slow=asked.slow, ticket=ticket, request=request
            )
        if isinstance(answer, bytes):
            return Response(answer, media_type="application/octet-stream", headers=FRESH)
        return fresh_json(f'{{"answer":{answer}}}' if isinstance(answer, Payload) else {"answer": answer})

    return Route(f"/{ROUTE}", only_for(is_logged_in, ask), methods=["POST"])


def to_bytes(body: Mapping[str, Any]) -> bytes:
    """Pack an answer whose arrays travel as raw bytes, a third shorter than base64: a file of safetensors.

    It has the arrays by name, each where a browser reads it without a copy, and the rest as JSON in its metadata.
    """
    # What is saved is the memory of an array, whatever its strides are.
    arrays = {name: np.ascontiguousarray(value) for name, value in body.items() if isinstance(value, np.ndarray)}
    return save(arrays, {"body": to_json({name: value for name, value in body.items() if name not in arrays})})


def fresh_json(answer: Any) -> Response:
    """Return an answer, or the text of one, as fresh JSON."""
    text = answer if isinstance(answer, str) else to_json(answer)
    return Response(text, headers=FRESH, media_type="application/json")
