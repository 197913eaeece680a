"""Who is answered next: visitors in turn, each lane for itself, and nobody who has left."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from bertviz_lab.ui.server import waiting_line as waiting_line_module
from bertviz_lab.ui.server.waiting_line import Cancelled, Lane, Turn, WaitingLine


class Answering:
    """Questions that end when they are told to; `begun` has them in the order in which they began."""

    def __init__(
        self, *, places: int = 1, of_one_visitor: int | None = None, most_of_one: int = 100, most_waiting: int = 200
    ) -> None:
        lane = Lane(places, of_one_visitor or places, 10.0)
        self.line = WaitingLine({"fast": lane, "slow": lane}, most_of_one, most_waiting)
        self.begun: list[str] = []
        self.cancelled: list[str] = []
        self._ends: dict[str, asyncio.Event] = {}
        self._tasks: list[asyncio.Task[None]] = []

    def ask(self, visitor: str, question: str, lane: str = "fast", name: str = "toy.it") -> Turn:
        self._ends[question] = asyncio.Event()
        turn = self.line.join(tuple(visitor.split("/")), name, lane)
        self._tasks.append(asyncio.create_task(self._answer(turn, question)))
        return turn

    async def _answer(self, turn: Turn, question: str) -> None:
        try:
            async with self.line.place(turn):
                self.begun.append(question)
                await self._ends[question].wait()
                turn.tell(1.0)
        except Cancelled:
            self.cancelled.append(question)

    async def end(self, *questions: str) -> None:
        for question in questions:
            await settle()
            self._ends[question].set()
        await settle()

    async def end_all(self) -> None:
        while not all(task.done() for task in self._tasks):
            for end in self._ends.values():
                end.set()
            await settle()


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


def in_loop(test: Callable[[], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    def run() -> None:
        asyncio.run(test())

    run.__name__, run.__doc__ = test.__name__, test.__doc__
    return run


@in_loop
async def test_free_places_go_round_the_visitors() -> None:
    at = Answering()
    for number in range(4):
        at.ask("eager", f"eager {number}")
    at.ask("calm", "calm 0")
    at.ask("quiet", "quiet 0")
    at.ask("calm", "calm 1")
    for question in ("eager 0", "calm 0", "quiet 0", "eager 1", "calm 1", "eager 2", "eager 3"):
        await settle()
        assert at.begun[-1] == question
        await at.end(question)
    assert len(at.line) == 0


@in_loop
async def test_one_who_asks_without_end_delays_another_by_one_question() -> None:
    at = Answering()
    for number in range(50):
        at.ask("eager", f"eager {number}")
    at.ask("calm", "calm")
    await at.end("eager 0")
    assert at.begun == ["eager 0", "calm"]
    await at.end_all()


@in_loop
async def test_a_visitor_leaves_places_for_others() -> None:
    at = Answering(places=4, of_one_visitor=2)
    for number in range(4):
        at.ask("eager", f"eager {number}")
    await settle()
    assert at.begun == ["eager 0", "eager 1"]
    at.ask("calm", "calm 0")
    await settle()
    assert at.begun[-1] == "calm 0"
    await at.end_all()


@in_loop
async def test_the_slow_hold_up_the_slow_only() -> None:
    at = Answering()
    at.ask("one", "slow 0", "slow")
    at.ask("other", "slow 1", "slow")
    at.ask("other", "fast 0")
    await settle()
    assert at.begun == ["slow 0", "fast 0"]
    await at.end_all()


@in_loop
async def test_too_many_of_one_visitor_give_way_to_newer_ones() -> None:
    at = Answering(most_of_one=2)
    at.ask("eager", "first")
    at.ask("eager", "second", name="toy.other")
    at.ask("eager", "third")
    at.ask("calm", "calm")
    fourth = at.ask("eager", "fourth")
    await settle()
    assert at.cancelled == ["third"]  # the second is another question
    assert at.line.ahead_of(fourth) == (2, pytest.approx(30.0, abs=1))
    await at.end_all()
    assert "fourth" in at.begun


@in_loop
async def test_whoever_makes_up_many_names_at_one_address_takes_one_turn_in_two() -> None:
    at = Answering()
    for number in range(6):
        at.ask(f"crowd/{number}", f"crowd {number}")
    at.ask("calm/0", "calm 0")
    at.ask("calm/0", "calm 1")
    for question in ("crowd 0", "calm 0", "crowd 1", "calm 1", "crowd 2", "crowd 3"):
        await settle()
        assert at.begun[-1] == question
        await at.end(question)
    await at.end_all()


@in_loop
async def test_at_one_address_its_visitors_take_turns() -> None:
    at = Answering()
    for number in range(3):
        at.ask("school/eager", f"eager {number}")
    at.ask("school/calm", "calm 0")
    at.ask("home/quiet", "quiet 0")
    for question in ("eager 0", "quiet 0", "calm 0", "eager 1", "eager 2"):
        await settle()
        assert at.begun[-1] == question
        await at.end(question)


@in_loop
async def test_where_too_many_wait_altogether_the_largest_crowd_gives_way() -> None:
    at = Answering(most_waiting=3)
    for number in range(4):
        at.ask(f"crowd/{number}", f"crowd {number}")
    calm = at.ask("calm/0", "calm")
    await settle()
    assert at.cancelled == ["crowd 1"]
    assert not calm.cancelled
    await at.end_all()


@in_loop
async def test_one_who_leaves_while_waiting_is_never_answered() -> None:
    at = Answering()
    at.ask("one", "first")
    second = at.ask("other", "second")
    at.ask("other", "third")
    await settle()
    at.line.cancel(second, "gone")
    await at.end("first")
    assert (at.begun, at.cancelled) == (["first", "third"], ["second"])
    await at.end_all()


@in_loop
async def test_what_is_at_work_ends_when_it_next_tells_how_far_it_is() -> None:
    at = Answering()
    first = at.ask("one", "first")
    await settle()
    first.tell(0.5)
    assert first.share == 0.5
    at.line.cancel(first, "gone")
    with pytest.raises(Cancelled):
        first.tell(0.6)
    await at.end("first")
    assert (at.cancelled, len(at.line)) == (["first"], 0)


@in_loop
async def test_the_expected_time_is_learnt_from_answers() -> None:
    at, clock = Answering(), [100.0]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(waiting_line_module.time, "monotonic", lambda: clock[0])
        first = at.ask("one", "first")
        await settle()
        assert at.line.ahead_of(first) is None  # at work
        clock[0] += 3
        second = at.ask("other", "second")
        assert at.line.ahead_of(second) == (0, 7.0)  # of the ten that are assumed before anything is known
        await at.end("first")
        third, fourth = at.ask("one", "third"), at.ask("third", "fourth")
        assert at.line.ahead_of(third) == (
            0,
            pytest.approx(3.0),
        )  # the second is at work, and the first took three seconds
        assert at.line.ahead_of(fourth) == (1, pytest.approx(6.0))
        await at.end_all()


@in_loop
async def test_nothing_is_kept_of_visitors_who_wait_no_more() -> None:
    at = Answering(places=2)
    for number in range(100):
        at.ask(f"visitor {number}", f"question {number}")
    await at.end_all()
    assert len(at.line) == 0
    assert not at.line._answered
