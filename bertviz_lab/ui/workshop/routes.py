"""The addresses of a workshop: the leader's page and what it asks, the room's, the handouts, and short links.

The leader's need the key's cookie where there is a workshop; without one they are for whoever may see the page, on
a shared page without the checks of the machine, and there is no room.
"""

import html
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Literal

import anyio
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from bertviz_lab.errors import InputError
from bertviz_lab.figures.payload import to_json
from bertviz_lab.ui.guard.addresses import is_same_origin
from bertviz_lab.ui.languages import Language, Message, language_of
from bertviz_lab.ui.lessons import LESSONS
from bertviz_lab.ui.lessons.handout import handout_page
from bertviz_lab.ui.lessons.measuring import Measured, measure
from bertviz_lab.ui.operations.event_log import log_event
from bertviz_lab.ui.server.access import is_logged_in
from bertviz_lab.ui.server.error_handling import sentence_of
from bertviz_lab.ui.server.visitors import place_of, visitor_of
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.workshop.address import participants_address
from bertviz_lab.ui.workshop.leader_key import LeaderKey
from bertviz_lab.ui.workshop.leader_page import (
    EXPECTED,
    board,
    checks_table,
    is_for_owner,
    leader_page,
    notes_of,
    run_lines,
)
from bertviz_lab.ui.workshop.machine import examine_machine
from bertviz_lab.ui.workshop.room import Room
from bertviz_lab.ui.workshop.screen import screen, screen_page
from bertviz_lab.ui.workshop.sheet import document

_LONGEST = 4096  # bytes of what a browser of the room says
_FRESH = {"Cache-Control": "no-store"}
_Number = Annotated[int, Field(ge=1, le=len(LESSONS))]
_Choice = Annotated[int, Field(ge=0, lt=max(len(lesson.choices) for lesson in LESSONS))]

Answer = Callable[[Request], Awaitable[Response]]


class _Report(BaseModel):
    """What a browser of the room says, every few seconds."""

    model_config = ConfigDict(strict=True, extra="forbid")
    room: Annotated[str, Field(max_length=40)] = ""
    at: _Number = 1
    done: Annotated[list[_Number], Field(max_length=len(LESSONS))] = []
    chosen: Annotated[dict[_Number, _Choice], Field(max_length=len(LESSONS))] = {}


class _Act(BaseModel):
    """What the leader does."""

    model_config = ConfigDict(strict=True, extra="forbid")
    act: Literal["call", "reveal", "reset"]
    lesson: Annotated[int, Field(ge=0, le=len(LESSONS))] = 0


def workshop_routes(state: AppState) -> list[Route]:
    """All of them; the room's are there in a workshop only."""
    leader = _Leader(state)
    routes = [
        Route("/leader", leader.page),
        Route("/leader/notes/{number:int}", leader.only(leader.notes)),
        Route("/leader/checks", leader.only(leader.checks)),
        Route("/leader/handout", leader.only(leader.handout)),
        Route("/handout", leader.visitors(handout(state))),
        Route("/{number:int}", short_link(state)),
    ]
    if state.room is None:
        return routes
    room = _RoomRoutes(state, state.room)
    return [
        *routes,
        Route("/leader/board", leader.only(room.board), methods=["GET"]),
        Route("/leader/board", leader.only(room.act), methods=["POST"]),
        Route("/room", leader.visitors(room.screen_page), methods=["GET"]),
        Route("/room", leader.visitors(room.report), methods=["POST"]),
        Route("/room/screen", leader.visitors(room.screen)),
    ]


class _Leader:
    """What is answered to the leader alone."""

    def __init__(self, state: AppState) -> None:
        self._state = state
        self._key = LeaderKey(state.settings.leader_key) if state.room is not None else None
        self._checking = anyio.CapacityLimiter(1)

    def only(self, answer: Answer) -> Answer:
        """The same for the leader only."""

        async def answer_leader(request: Request) -> Response:
            return await answer(request) if await self._may(request) else _refusal("This is for the leader.", 401)

        return answer_leader

    def visitors(self, answer: Answer) -> Answer:
        """The same for all who may see the page."""

        async def answer_visitor(request: Request) -> Response:
            seen = await is_logged_in(request) or await self._may(request)
            return await answer(request) if seen else _refusal("Log in first.", 401)

        return answer_visitor

    async def _may(self, request: Request) -> bool:
        return self._key.is_leader(request) if self._key is not None else await is_logged_in(request)

    async def page(self, request: Request) -> Response:
        """`/leader`, and with `?key=` the way to it: the key becomes a cookie and leaves the address."""
        key, say = request.query_params.get("key"), language_for(self._state, request)
        if self._key is not None and key is not None:
            if not is_same_origin(request.headers):  # such as an image or a link on a page of somebody else
                sentence = say("A link of another site does not open this page. Type the address or the key.")
                return HTMLResponse(_key_page(sentence, say), 403, _FRESH)
            wait = self._key.try_key(request, key)
            if wait is None:
                response: Response = RedirectResponse(say.address("leader"), 303, _FRESH)
                self._key.remember(request, response)
                return response
            wrong, seconds = say("This is not the leader's key."), max(1, round(wait))
            again = say("Wait {seconds} s before the next try.", seconds=seconds) if wait > 0 else ""
            return HTMLResponse(_key_page(f"{wrong} {again}", say), 429 if wait > 0 else 403, _FRESH)
        if not await self._may(request):
            return HTMLResponse(_key_page(say("This page is for the leader of the workshop."), say), 401, _FRESH)
        address = address_for(self._state, request)
        return HTMLResponse(leader_page(self._state.settings, address, self._state.room, say), 200, _FRESH)

    async def notes(self, request: Request) -> Response:
        """The answer of a lesson, measured now."""
        number = request.path_params["number"]
        if not 1 <= number <= len(LESSONS):
            return _refusal("There is no such lesson.", 404)
        say = language_for(self._state, request)
        return await self._in_line(request, lambda: notes_of(measure(self._state, LESSONS[number - 1], say)))

    async def checks(self, request: Request) -> Response:
        """What `doctor` says of this machine, with the page open on it; strangers are told nothing about it."""
        if not is_for_owner(self._state.settings):
            return _refusal("The checks are for the owner of this machine: run bertviz-lab doctor on it.", 403)
        runs, port = self._state.settings.runs_dir, request.url.port or 80
        people = max(EXPECTED, len(self._state.room or ()))

        def examine() -> str:
            return checks_table(list(examine_machine("0.0.0.0", port, runs, visitors=people, serving=True)))

        return HTMLResponse(await anyio.to_thread.run_sync(examine, limiter=self._checking), 200, _FRESH)

    async def handout(self, request: Request) -> Response:
        """The sheet with its answers, as far as they can be measured here."""
        address, say = address_for(self._state, request), language_for(self._state, request)
        return await self._in_line(request, lambda: handout_page(LESSONS, self._measured(say), address, say))

    async def _in_line(self, request: Request, compute: Callable[[], str]) -> Response:
        """HTML that takes seconds to compute: it waits like the questions of all visitors."""
        line, place = self._state.scheduler, place_of(request)
        try:
            written = await line.answer(compute, place, "lessons.measured", slow=True, request=request)
        except Exception as error:  # a model may not be there
            written = f"<p>{html.escape(sentence_of(error, shared=self._state.settings.shared))}</p>"
        return HTMLResponse(written, 200, _FRESH)

    def _measured(self, say: Language) -> list[Measured]:
        answers = []
        for lesson in LESSONS:
            try:
                answers.append(measure(self._state, lesson, say))
            except InputError:
                continue  # its model is not there: the question stays, the answer is left out
        return answers


class _RoomRoutes:
    """What is answered about the room."""

    def __init__(self, state: AppState, room: Room) -> None:
        self._state, self._room = state, room

    async def board(self, request: Request) -> Response:
        """What changes on the leader's page."""
        lines = await run_in_threadpool(run_lines, self._state.runs)
        return _told(*board(self._room, lines, language_for(self._state, request)))

    async def act(self, request: Request) -> Response:
        """The leader calls everybody to a lesson, reveals one, or begins anew."""
        try:
            sent = _Act.model_validate_json(await request.body())
        except ValidationError:
            return _refusal("This page is out of date; reload it.", 422)
        if sent.act != "reset" and not sent.lesson:
            return _refusal("Which lesson?", 422)
        if sent.act == "call":
            self._room.call(sent.lesson)
            self._room.outcome = Message("Everyone is called to lesson {number}.", number=sent.lesson)
        elif sent.act == "reveal":
            self._room.reveal(sent.lesson)
            self._room.outcome = Message("Lesson {number} is revealed; its predictions are final.", number=sent.lesson)
        else:
            self._room.reset()
            self._room.outcome = Message("The room begins anew.")
        log_event("workshop", act=sent.act, lesson=sent.lesson)
        return await self.board(request)

    async def report(self, request: Request) -> Response:
        """A browser says where it is and what it predicted, and is told what the leader called and revealed."""
        visitor, body = visitor_of(request), await request.body()
        if not visitor.owner:
            return _refusal("This browser keeps no cookies; allow them for this page and reload it.", 403)
        try:
            sent = _Report.model_validate_json(body if len(body) <= _LONGEST else b"")
        except ValidationError:
            return _refusal("This page is out of date; reload it.", 422)
        guesses = {number: at for number, at in sent.chosen.items() if at < len(LESSONS[number - 1].choices)}
        news = self._room.report(visitor, sent.room, sent.at, sent.done, guesses)
        return Response(to_json(news), 200, _FRESH, "application/json")

    async def screen_page(self, request: Request) -> Response:
        """The page for the projector."""
        address, say = address_for(self._state, request), language_for(self._state, request)
        return HTMLResponse(screen_page(self._state.settings.workshop, address, say), 200, _FRESH)

    async def screen(self, request: Request) -> Response:
        """What changes on it."""
        return _told(*screen(self._room, language_for(self._state, request)))


def handout(state: AppState) -> Answer:
    """The sheet for participants: all questions and no answer."""

    async def answer(request: Request) -> Response:
        address, say = address_for(state, request), language_for(state, request)
        return HTMLResponse(handout_page(LESSONS, (), address, say), 200, _FRESH)

    return answer


def short_link(state: AppState) -> Answer:
    """`/5` leads to lesson 5."""

    async def answer(request: Request) -> Response:
        number = request.path_params["number"]
        if not 1 <= number <= len(LESSONS):
            return PlainTextResponse("There is no such lesson.", 404)
        return RedirectResponse(language_for(state, request).address(f"./?lesson={number}"), 303)

    return answer


def language_for(state: AppState, request: Request) -> Language:
    """The language that the address of a request asks for with `lang`, else the server's."""
    return language_of(request.query_params.get("lang"), state.settings.language)


def address_for(state: AppState, request: Request) -> str:
    """Where participants open the page, as far as this request tells."""
    return participants_address(state.settings.public_url, str(request.base_url))


def _key_page(sentence: str, say: Language) -> str:
    title = say("For the leader")
    where = say("The terminal in which the lab was started shows the address of the leader's page.")
    kept = f'<input type="hidden" name="lang" value="{say.code}">' if say.query else ""
    body = (
        f'<h1>{title}</h1><p>{html.escape(sentence)} {where}</p><form action="leader" class="act">{kept}'
        f'<label>{say("Key")} <input type="password" name="key" required></label>'
        f'<button class="action">{say("Open")}</button></form>'
    )
    return document(title, body, say)


def _told(texts: dict[str, str], shares: dict[str, float]) -> Response:
    body: dict[str, Any] = {"texts": texts, "shares": shares}
    return Response(to_json(body), 200, _FRESH, "application/json")


def _refusal(sentence: str, status: int) -> Response:
    return PlainTextResponse(sentence, status, _FRESH)
