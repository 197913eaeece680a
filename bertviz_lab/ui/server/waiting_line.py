"""Who is answered next: free places go round the visitors, and to nobody who has left.

A lane has so many places for questions that are computed at the same time. A visitor who asks much waits behind those
who ask little: first comes whoever has the fewest questions at work, then whoever has gone without an answer for the
longest time. So a question waits for about as many others as there are visitors, however many each of them asks.

Visitors are known by a path, such as (network address, cookie): places go round the addresses first, and round the
cookies of an address then, since anybody can make up cookies.

All of it is used from the server's event loop; only `tell_progress` is called by the threads that compute.
"""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, TypeVar

from anyio import CapacityLimiter, Event, to_thread
from starlette.requests import Request

from bertviz_lab.config.limits import Limits
from bertviz_lab.errors import InputError

Visitor = tuple[str, ...]

ResultT = TypeVar("ResultT")

_AT_ONCE, _SLOW_AT_ONCE = 8, 2  # questions of all visitors together
_LOOK_SECONDS = 0.2  # between two looks whether the asker is still there
_FORGET = 0.3  # share of the newest measurement in what a question is expected to take
_LEFT, _DROPPED = "Whoever asked has left.", "A newer question has taken this one's place."


class Cancelled(BaseException):
    """Nobody waits for the answer any more.

    Not an `Exception`: what handles the errors of a computation must not take it for one and go on.
    """


@dataclass(frozen=True)
class Lane:
    """Questions that wait for each other only.

    Attributes:
        places: how many are computed at a time.
        of_one_visitor: how many of these may be of one visitor.
        seconds: what one is expected to take before any of its kind was measured.
    """

    places: int
    of_one_visitor: int
    seconds: float


@dataclass(eq=False)
class Turn:
    """A question on its way: it waits until it `began`, and is at work until it leaves."""

    visitor: Visitor
    name: str
    lane: str
    number: int
    began: float | None = None  # on the monotonic clock
    share: float = 0.0  # how much of it is computed, 0 to 1
    cancelled: str = ""  # why, as a sentence
    called: Event = field(default_factory=Event)

    def tell(self, share: float) -> None:
        """Note how much is computed. Raises `Cancelled` where it need not go on."""
        self.share = share
        if self.cancelled:
            raise Cancelled


class WaitingLine:
    """The questions of all visitors; `most_of_one` of a visitor may wait, and `most_waiting` of all."""

    def __init__(self, lanes: Mapping[str, Lane], most_of_one: int, most_waiting: int) -> None:
        self._lanes, self._most_of_one, self._most_waiting = lanes, most_of_one, most_waiting
        self._waiting: list[Turn] = []
        self._at_work: list[Turn] = []
        self._answered: dict[tuple[Visitor, str], int] = {}  # by whom and in which lane: when; while they have more
        self._seconds: dict[str, float] = {}  # by the name of a question, what it takes
        self._turns: dict[str, Turn] = {}  # by ticket
        self._numbers = 0
        # Threads of their own: who computes here takes none from Gradio.
        self._threads = CapacityLimiter(sum(lane.places for lane in lanes.values()))

    @classmethod
    def of(cls, limits: Limits) -> "WaitingLine":
        """The line of a page: on a shared one nobody takes more than half of the places."""

        def lane(places: int, seconds: float) -> Lane:
            return Lane(places, places // 2 if limits.shared else places, seconds)

        lanes = {"fast": lane(_AT_ONCE, 0.1), "slow": lane(_SLOW_AT_ONCE, 2.0)}
        return cls(lanes, limits.questions_waiting, limits.waiting_in_all)

    async def answer(
        self,
        compute: Callable[[], ResultT],
        visitor: Visitor,
        name: str,
        *,
        slow: bool = False,
        ticket: str = "",
        request: Any = None,
    ) -> ResultT:
        """What `compute` gives, in a thread, when its turn has come.

        `ticket` is the name by which others ask about it. It is cancelled when the connection of `request`, one of
        Starlette, is closed. Raises `InputError` with the reason where it was cancelled.
        """
        turn = self.join(visitor, name, "slow" if slow else "fast")
        self._turns[ticket] = turn
        watcher = asyncio.create_task(self._cancel_when_left(turn, request))
        reset = _TELL.set(turn.tell)
        try:
            async with self.place(turn):
                return await to_thread.run_sync(compute, limiter=self._threads, abandon_on_cancel=False)
        except Cancelled:
            raise InputError(turn.cancelled) from None
        finally:
            _TELL.reset(reset)
            watcher.cancel()
            if self._turns.get(ticket) is turn:
                del self._turns[ticket]

    def progress(self, ticket: str) -> dict[str, Any]:
        """How much is computed, and while it waits, how many questions come first and for how many seconds."""
        turn = self._turns.get(ticket)
        before, seconds = (turn and self.ahead_of(turn)) or (None, None)
        return {"share": turn.share if turn else 0.0, "before": before, "seconds": seconds}

    def drop(self, ticket: str, visitor: Visitor) -> None:
        """A visitor's question need not be answered: they want to know something else."""
        turn = self._turns.get(ticket)
        if turn and turn.visitor == visitor:
            self.cancel(turn, _DROPPED)

    async def _cancel_when_left(self, turn: Turn, request: Any) -> None:
        while isinstance(request, Request) and not turn.cancelled:
            await asyncio.sleep(_LOOK_SECONDS)
            if await request.is_disconnected():
                self.cancel(turn, _LEFT)

    def join(self, visitor: Visitor, name: str, lane: str) -> Turn:
        """A new question. Where too many of the visitor wait, their oldest one gives way, of the same name if any.

        Where too many wait altogether, it is one of the address that has the most.
        """
        own = [turn for turn in self._waiting if turn.visitor == visitor]
        if len(own) >= self._most_of_one:
            oldest = min(own, key=lambda turn: (turn.name != name, turn.number))
            self.cancel(oldest, "Too many of your questions were waiting; newer ones have taken this one's place.")
        elif len(self._waiting) >= self._most_waiting:
            ((crowd, _),) = Counter(turn.visitor[0] for turn in self._waiting).most_common(1)
            oldest = next(turn for turn in self._waiting if turn.visitor[0] == crowd)
            self.cancel(oldest, "This server is busy with the questions of others; try again in a moment.")
        turn = Turn(visitor, name, lane, self._next_number())
        self._waiting.append(turn)
        self._call()
        return turn

    @asynccontextmanager
    async def place(self, turn: Turn) -> AsyncIterator[None]:
        """Wait for a place and hold it. Raises `Cancelled` where the question was cancelled while it waited."""
        try:
            await turn.called.wait()
            if turn.cancelled:
                raise Cancelled
            yield
        finally:
            self._leave(turn)

    def cancel(self, turn: Turn, why: str) -> None:
        """Take a question out of the line; one at work ends when it next tells how far it is."""
        turn.cancelled = turn.cancelled or why
        if turn in self._waiting:
            self._waiting.remove(turn)
        turn.called.set()

    def ahead_of(self, turn: Turn) -> tuple[int, float] | None:
        """How many questions are answered before one that waits, and about how many seconds that takes."""
        if turn not in self._waiting:
            return None
        order = self._order(turn.lane)
        before = order[: order.index(turn)]
        left = sum(self._left(other) for other in self._at_work if other.lane == turn.lane)
        return len(before), (left + sum(map(self._expected, before))) / self._lanes[turn.lane].places

    def __len__(self) -> int:
        return len(self._waiting) + len(self._at_work)

    def _order(self, lane: str) -> list[Turn]:
        """Those that wait, in the order in which they begin if nobody else comes."""
        order = [turn for turn in self._waiting if turn.lane == lane]
        depth = max((len(turn.visitor) for turn in order), default=0)
        for level in range(depth, 0, -1):  # of each address first its cookies in turn, then the addresses
            rounds = Counter(turn.visitor[:level] for turn in self._at_work if turn.lane == lane)
            ranks = {}
            for turn in order:
                group = turn.visitor[:level]
                ranks[turn] = rounds[group], max(turn.number, self._answered.get((group, lane), 0))
                rounds[group] += 1
            order.sort(key=ranks.__getitem__)
        return order

    def _call(self) -> None:
        """Give the places that are free."""
        for name, lane in self._lanes.items():
            holders = Counter(turn.visitor for turn in self._at_work if turn.lane == name)
            for turn in self._order(name) if holders.total() < lane.places else ():
                if holders.total() < lane.places and holders[turn.visitor] < lane.of_one_visitor:
                    holders[turn.visitor] += 1
                    self._waiting.remove(turn)
                    self._at_work.append(turn)
                    turn.began = time.monotonic()
                    turn.called.set()

    def _leave(self, turn: Turn) -> None:
        if turn in self._waiting:
            self._waiting.remove(turn)
        if turn in self._at_work:
            self._at_work.remove(turn)
            taken = time.monotonic() - (turn.began or 0.0)
            if not turn.cancelled:
                self._seconds[turn.name] = _FORGET * taken + (1 - _FORGET) * self._seconds.get(turn.name, taken)
            number = self._next_number()
            self._answered |= {(group, turn.lane): number for group in _groups(turn.visitor)}
        waiting = {(group, other.lane) for other in self._waiting for group in _groups(other.visitor)}
        self._answered = {key: number for key, number in self._answered.items() if key in waiting}
        self._call()

    def _expected(self, turn: Turn) -> float:
        return self._seconds.get(turn.name, self._lanes[turn.lane].seconds)

    def _left(self, turn: Turn) -> float:
        """Seconds that a question at work still takes: by how far it is, else by what others took."""
        spent = time.monotonic() - (turn.began or 0.0)
        if turn.share > 0:
            return spent * (1 - turn.share) / turn.share
        expected = self._expected(turn)
        return expected - spent if spent < expected else spent  # it is a long one, nobody knows how long

    def _next_number(self) -> int:
        self._numbers += 1
        return self._numbers


def _groups(visitor: Visitor) -> list[Visitor]:
    """The address, and the visitor at it."""
    return [visitor[:level] for level in range(1, len(visitor) + 1)]


_TELL: ContextVar[Callable[[float], None] | None] = ContextVar("tell", default=None)


def tell_progress(share: float) -> None:
    """Say how much of the question that is being answered is done, 0 to 1; the page shows it where it takes long.

    Raises `Cancelled` where nobody waits for the answer any more: what takes long calls this often.
    """
    tell = _TELL.get()
    if tell is not None:
        tell(share)
