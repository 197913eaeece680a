"""Visitors who ask what takes long and hang up: nobody else waits for them."""

import asyncio
import contextlib
import dataclasses
import time
from collections.abc import Iterator

import httpx
import pytest

from benchmarks.visitor import PageError, Visitor
from bertviz_lab.config import SHIPPED
from bertviz_lab.ui.server.questions import Questions
from tests.ui.pages import little_settings, serve

_LONG = "the old king of france was a man of letters " * 40
_ABANDONED, _PATIENCE = 24, 0.5
_SURPRISAL = {"model": "wiki-mini", "text_b": "", "hidden": []}


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Questions]]:
    """The address of a shared page with the shipped models, and what answers its questions."""
    made: list[Questions] = []
    whole = Questions.__init__

    def remember(self: Questions, *arguments: object) -> None:
        whole(self, *arguments)  # type: ignore[arg-type]
        made.append(self)

    settings = little_settings(tmp_path_factory.mktemp("page"), shared=True, models=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Questions, "__init__", remember)
        with serve(dataclasses.replace(settings, checkpoints=SHIPPED)) as (address, _):
            yield address, made[0]


async def _abandon(visitor: Visitor) -> None:
    with contextlib.suppress(httpx.TimeoutException, PageError):  # too many of one visitor give way
        await visitor.ask("predictions", "surprisal", timeout=_PATIENCE, text_a=_LONG, **_SURPRISAL)


async def _seconds_of_six_words(visitor: Visitor) -> float:
    began = time.monotonic()
    await visitor.ask("predictions", "surprisal", text_a="The king of France is old.", **_SURPRISAL)
    return time.monotonic() - began


def test_abandoned_questions_hold_up_nobody(page: tuple[str, Questions]) -> None:
    """Twenty-four at once made a question of six words take three minutes."""
    address, questions = page

    async def attack() -> tuple[float, float]:
        async with contextlib.AsyncExitStack() as stack:
            visitors = [await stack.enter_async_context(Visitor(address)) for _ in range(_ABANDONED + 1)]
            await visitors[0].open()
            for visitor in visitors:
                visitor.config = visitors[0].config
            alone = await _seconds_of_six_words(visitors[0])
            await asyncio.gather(*(_abandon(visitor) for visitor in visitors[1:]))
            return alone, await _seconds_of_six_words(visitors[0])

    alone, after = asyncio.run(attack())
    assert after < 2 + alone
    end = time.monotonic() + 5
    while len(questions._line):  # nothing of the attack is computed any more
        assert time.monotonic() < end
        time.sleep(0.05)


def test_a_question_that_the_page_drops_ends_and_another_visitor_cannot_drop_it(page: tuple[str, Questions]) -> None:
    address, questions = page

    async def ask_and_drop() -> str:
        async with Visitor(address) as visitor:
            await visitor.open()
            sent = ["mine", "predictions", "surprisal", {"text_a": _LONG, **_SURPRISAL}]
            asked = asyncio.create_task(visitor.call("wire", "answer", sent))
            while "mine" not in questions._turns:
                await asyncio.sleep(0.05)
            turn = questions._turns["mine"]
            visitor_before, turn.visitor = turn.visitor, "somebody else"
            await visitor.call("wire", "drop", "mine")
            assert not turn.cancelled
            turn.visitor = visitor_before
            await visitor.call("wire", "drop", "mine")
            return str(await asked)

    assert "newer question" in asyncio.run(ask_and_drop())


def test_who_waits_is_told_how_long(page: tuple[str, Questions]) -> None:
    address, questions = page

    async def wait() -> list[dict[str, float | None]]:
        async with Visitor(address) as visitor:
            await visitor.open()
            said, asked = [], []
            for ticket in ("first", "second", "third"):
                sent = [ticket, "predictions", "surprisal", {"text_a": _LONG, **_SURPRISAL}]
                asked.append(asyncio.create_task(visitor.call("wire", "answer", sent)))
                while ticket not in questions._turns:
                    await asyncio.sleep(0.05)
            for ticket in ("first", "second", "third"):
                said.append(await visitor.call("wire", "progress", ticket))
            for ticket in ("first", "second", "third"):
                await visitor.call("wire", "drop", ticket)
            await asyncio.gather(*asked)
            return said

    first, second, third = asyncio.run(wait())
    assert first["before"] is None
    assert (second["before"], third["before"]) == (0, 1)
    assert min(second["seconds"], third["seconds"]) > 0  # type: ignore[type-var, operator]
