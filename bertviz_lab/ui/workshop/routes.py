"""The addresses of a workshop: the leader's page and what it asks, the room's, the handouts, and short links.

In a workshop the leader's need the cookie of the key. Without one they are for all who may see the page, on a shared
page without the checks of the machine, and there is no room.
"""

import contextlib
import html
from collections.abc import Callable
from typing import Annotated, Literal

import anyio
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from bertviz_lab.errors import InputError
from bertviz_lab.ui.guard.addresses import is_same_origin
from bertviz_lab.ui.guard.bodies import Refused
from bertviz_lab.ui.guard.logins import Answer, is_logged_in, only_for
from bertviz_lab.ui.languages import Language, Message, language_of
from bertviz_lab.ui.lessons import LESSONS
from bertviz_lab.ui.lessons.measuring import handout_page, measure
from bertviz_lab.ui.operations.event_log import log_event
from bertviz_lab.ui.server.error_handling import sentence_of
from bertviz_lab.ui.server.questions import FRESH, fresh_json
from bertviz_lab.ui.server.visitors import visitor_of
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.workshop import pages
from bertviz_lab.ui.workshop.access import LeaderKey, participants_address
from bertviz_lab.ui.workshop.machine import examine_machine
from bertviz_lab.ui.workshop.plans import PLANS
from bertviz_lab.ui.workshop.room import Room

_LONGEST = 4096  # bytes of a browser's report
_Number = Annotated[int, Field(ge=1, le=len(LESSONS))]
_Choice = Annotated[int, Field(ge=0, lt=max(len(lesson.choices) for lesson in LESSONS))]


class _Report(BaseModel):
    """What a browser of the room sends every few seconds."""

    model_config = ConfigDict(strict=True, extra="forbid")
    room: Annotated[str, Field(max_length=40)] = ""
    at: Annotated[int, Field(ge=0, le=len(LESSONS))] = 1  # 0 in the exam
    done: Annotated[list[_Number], Field(max_length=len(LESSONS))] = []
    chosen: Annotated[dict[_Number, _Choice], Field(max_length=len(LESSONS))] = {}


class _Act(BaseModel):
    """What the leader does."""

    model_config = ConfigDict(strict=True, extra="forbid")
    act: Literal["call", "reveal", "before", "after", "start", "next", "back", "reset"]
    number: Annotated[int, Field(ge=0, le=1000)] = 0  # of a lesson, by default the called one; the minutes of a plan


def workshop_routes(state: AppState) -> list[Route]:
    """Return all routes; the room's are there in a workshop only."""
    workshop = _Workshop(state)
    leader, visitors = workshop.for_leader, workshop.for_visitors
    routes = [
        Route("/leader", workshop.leader_page),
        Route("/leader/notes/{number:int}", leader(workshop.notes)),
        Route("/leader/checks", leader(workshop.checks)),
        Route("/leader/handout", leader(workshop.answers)),
        Route("/handout", visitors(workshop.handout)),
        Route("/{number:int}", workshop.short_link),
        Route("/exam", workshop.exam_link),
    ]
    if state.room is None:
        return routes
    room = _RoomRoutes(workshop, state.room)
    return [
        *routes,
        Route("/leader/board", leader(room.board), methods=["GET"]),
        Route("/leader/board", leader(room.act), methods=["POST"]),
        Route("/room", visitors(room.screen_page), methods=["GET"]),
        Route("/room", visitors(room.report), methods=["POST"]),
        Route("/room/screen", visitors(room.screen)),
    ]


class _Workshop:
    """The leader's page, what it asks, and the handouts."""

    def __init__(self, state: AppState) -> None:
        self.state = state
        self._key = LeaderKey(state.settings.leader_key) if state.room is not None else None
        self._checking = anyio.CapacityLimiter(1)

    def say(self, request: Request) -> Language:
        """Return the language that the address of a request asks for with `lang`, else the server's."""
        return language_of(request.query_params.get("lang"), self.state.settings.language)

    def address(self, request: Request) -> str:
        """Return where participants open the page, as far as this request tells; nobody else reaches a local page."""
        settings, asked = self.state.settings, str(request.base_url)
        return participants_address(settings, asked) if settings.shared else asked

    def for_leader(self, answer: Answer) -> Answer:
        return only_for(self._is_leader, answer, "This is for the leader.")

    def for_visitors(self, answer: Answer) -> Answer:
        return only_for(self._is_visitor, answer)

    async def _is_leader(self, request: Request) -> bool:
        return self._key.is_leader(request) if self._key is not None else await is_logged_in(request)

    async def _is_visitor(self, request: Request) -> bool:
        return await is_logged_in(request) or await self._is_leader(request)

    async def leader_page(self, request: Request) -> Response:
        """Answer `/leader`, and with `?key=` let the key become a cookie and leave the address."""
        key, say = request.query_params.get("key"), self.say(request)
        if self._key is not None and key is not None:
            if not is_same_origin(request.headers):  # such as an image or a link on a page of somebody else
                sentence = say("A link of another site does not open this page. Type the address or the key.")
                return _html(pages.key_page(sentence, say), 403)
            wait = self._key.try_key(request, key)
            if wait is None:
                response = RedirectResponse(say.address("leader"), 303, FRESH)
                self._key.remember(request, response)
                return response
            wrong, seconds = say("This is not the leader's key."), max(1, round(wait))
            again = say("Wait {seconds} s before the next try.", seconds=seconds) if wait > 0 else ""
            return _html(pages.key_page(f"{wrong} {again}", say), 429 if wait > 0 else 403)
        if not await self._is_leader(request):
            return _html(pages.key_page(say("This page is for the leader of the workshop."), say), 401)
        return _html(pages.leader_page(self.state.settings, self.address(request), self.state.room, say))

    async def notes(self, request: Request) -> Response:
        number, say = request.path_params["number"], self.say(request)
        if not 1 <= number <= len(LESSONS):
            raise Refused(404, "There is no such lesson.")
        return await self._computed(request, lambda: pages.notes_of(measure(self.state, LESSONS[number - 1], say)))

    async def checks(self, request: Request) -> Response:
        """Return what `doctor` says of this machine, with the page open on it; strangers are told nothing about it."""
        if not pages.is_for_owner(self.state.settings):
            raise Refused(403, "The checks are for the owner of this machine: run bertviz-lab doctor on it.")
        runs, port = self.state.settings.runs_dir, request.url.port or 80
        people = max(pages.EXPECTED, len(self.state.room or ()))

        def examine() -> str:
            return pages.checks_table(list(examine_machine("0.0.0.0", port, runs, visitors=people, serving=True)))

        return _html(await anyio.to_thread.run_sync(examine, limiter=self._checking))

    async def answers(self, request: Request) -> Response:
        """Return the handout with its answers, as far as they can be measured here."""
        address, say = self.address(request), self.say(request)

        def write() -> str:
            measured = []
            for lesson in LESSONS:
                with contextlib.suppress(InputError):  # without its model the question stays, the answer is left out
                    measured.append(measure(self.state, lesson, say))
            return handout_page(LESSONS, measured, address, say)

        return await self._computed(request, write)

    async def handout(self, request: Request) -> Response:
        return _html(handout_page(LESSONS, (), self.address(request), self.say(request)))

    async def short_link(self, request: Request) -> Response:
        number = request.path_params["number"]
        if not 1 <= number <= len(LESSONS):
            raise Refused(404, "There is no such lesson.")
        return RedirectResponse(self.say(request).address(f"./?lesson={number}"), 303)

    async def exam_link(self, request: Request) -> Response:
        return RedirectResponse(self.say(request).address("./?lesson=exam"), 303)

    async def _computed(self, request: Request, compute: Callable[[], str]) -> Response:
        """Return HTML that takes seconds to compute, in turn with the questions of all visitors."""
        scheduler, visitor = self.state.scheduler, visitor_of(request)
        try:
            return _html(await scheduler.answer(compute, visitor, "lessons.measured", slow=True, request=request))
        except InputError as error:  # a model may not be there
            return _html(f"<p>{html.escape(sentence_of(error, shared=self.state.settings.shared))}</p>")


class _RoomRoutes:
    """What is answered about the room."""

    def __init__(self, workshop: _Workshop, room: Room) -> None:
        self._workshop, self._room = workshop, room

    async def board(self, request: Request) -> Response:
        runs = await run_in_threadpool(pages.runs_of, self._workshop.state.runs)
        return fresh_json(pages.board(self._room, runs, self._workshop.say(request)))

    async def act(self, request: Request) -> Response:
        """Do what the leader asks: call, reveal, follow a plan, or reset the room."""
        try:
            sent = _Act.model_validate_json(await request.body())
        except ValidationError:
            raise Refused(422, "This page is out of date; reload it.") from None
        room, number = self._room, sent.number or self._room.called
        plan = next((plan for plan in PLANS if plan.minutes == number), None)
        if sent.act in ("call", "reveal") and not 1 <= number <= len(LESSONS):
            raise Refused(422, "Which lesson?")
        match sent.act:
            case "call":
                room.call(number)
            case "before" | "after":
                room.call(exam=sent.act)
            case "reveal":
                room.reveal(number)
            case "start" if plan is not None:
                room.start(plan)
            case "start":
                raise Refused(422, "Which plan?")
            case "next":
                room.move(1)
            case "back":
                room.move(-1)
            case "reset":
                room.reset()
        room.outcome = _outcome(room, sent.act, number)
        log_event("workshop", act=sent.act, number=number)
        return await self.board(request)

    async def report(self, request: Request) -> Response:
        """Record where a browser is and what it predicted; return what the leader called and revealed."""
        visitor, body = visitor_of(request), await request.body()
        if not visitor.owner:
            raise Refused(403, "This browser keeps no cookies; allow them for this page and reload it.")
        try:
            sent = _Report.model_validate_json(body if len(body) <= _LONGEST else b"")
        except ValidationError:
            raise Refused(422, "This page is out of date; reload it.") from None
        guesses = {number: at for number, at in sent.chosen.items() if at < len(LESSONS[number - 1].choices)}
        say = self._workshop.say(request)
        return fresh_json(self._room.report(visitor, sent.room, sent.at, sent.done, guesses, say))

    async def screen_page(self, request: Request) -> Response:
        address, say = self._workshop.address(request), self._workshop.say(request)
        return _html(pages.screen_page(self._workshop.state.settings.workshop, address, say))

    async def screen(self, request: Request) -> Response:
        return fresh_json(pages.screen(self._room, self._workshop.say(request)))


def _outcome(room: Room, act: str, number: int) -> Message:
    """Return what the leader's act has led to."""
    if act == "reset":
        return Message("The room starts again.")
    if act == "reveal":
        return Message("Lesson {number} is revealed; its predictions are final.", number=number)
    if room.called:
        return Message("Everyone is called to lesson {number}.", number=room.called)
    if room.exam:
        return Message("Everyone is called to the exam.")
    if room.plan is None:
        return Message("The plan has ended.")
    return Message("Now: {title}.", title=Message(room.plan.part.title))


def _html(page: str, status: int = 200) -> Response:
    return HTMLResponse(page, status, FRESH)
