"""Visitors who ask what takes long and hang up: nobody else waits for them."""

import asyncio
import contextlib
import dataclasses
import time
from collections.abc import Iterator

import httpx
import pytest
from gradio_client import Client

from benchmarks.visitor import PageError, Visitor
from bertviz_lab.config import SHIPPED
from bertviz_lab.jobs.scheduler import Job
from bertviz_lab.ui.server.scheduler import VisitorScheduler
from tests.ui.pages import little_settings, serve

_LONG = "the old king of france was a man of letters " * 30  # about as long as is answered at all
_ABANDONED, _PATIENCE = 24, 0.5
_SURPRISAL = {"model": "wiki-mini", "text_b": "", "hidden": []}


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, VisitorScheduler]]:
    """The address of a shared page with the shipped models, and the line in which its questions wait."""
    settings = little_settings(tmp_path_factory.mktemp("page"), shared=True, models=False)
    with serve(dataclasses.replace(settings, checkpoints=SHIPPED)) as (address, session):
        yield address, session.scheduler


async def _abandon(visitor: Visitor) -> None:
    with contextlib.suppress(httpx.TimeoutException, PageError):  # too many of one visitor give way
        await visitor.ask("predictions", "surprisal", timeout=_PATIENCE, text_a=_LONG, **_SURPRISAL)


async def _seconds_of_six_words(visitor: Visitor) -> float:
    began = time.monotonic()
    await visitor.ask("predictions", "surprisal", text_a="The king of France is old.", **_SURPRISAL)
    return time.monotonic() - began


def test_abandoned_questions_hold_up_nobody(page: tuple[str, VisitorScheduler]) -> None:
    """Twenty-four at once made a question of six words take three minutes."""
    address, line = page

    async def attack() -> tuple[float, float]:
        async with contextlib.AsyncExitStack() as stack:
            visitors = [await stack.enter_async_context(Visitor(address)) for _ in range(_ABANDONED + 1)]
            await visitors[0].open()
            alone = await _seconds_of_six_words(visitors[0])
            await asyncio.gather(*(_abandon(visitor) for visitor in visitors[1:]))
            return alone, await _seconds_of_six_words(visitors[0])

    alone, after = asyncio.run(attack())
    assert after < 2 + alone
    end = time.monotonic() + 5
    while len(line):  # nothing of the attack is computed any more
        assert time.monotonic() < end
        time.sleep(0.05)


def test_programs_that_call_take_turns_in_the_same_line(page: tuple[str, VisitorScheduler]) -> None:
    address, _ = page
    joined: list[tuple[tuple[str, ...], str]] = []
    with pytest.MonkeyPatch.context() as patch:
        join = VisitorScheduler.submit

        def noting(self: VisitorScheduler, visitor: tuple[str, ...], name: str, lane: str) -> Job:
            joined.append((visitor, name))
            return join(self, visitor, name, lane)

        patch.setattr(VisitorScheduler, "submit", noting)
        client = Client(address, verbose=False)
        answer = client.predict("The king of France is [MASK].", "wiki-mini", 3, api_name="/fill_mask")
        client.close()
    assert len(answer["masks"][0]["candidates"]) == 3
    ((visitor, name),) = joined
    assert (visitor[0], name) == ("127.0.0.1", "api.fill_mask")
