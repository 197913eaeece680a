"""Thirty visitors who fill masks in their own browsers: what the server of the page still does, and how long it takes.

Real pages of headless Chromium, each with a cache and an engine of its own, open one after the other and then ask about
a text every 4 seconds. Browsers and server share the machine's cores. Meanwhile a program asks for one file of the page
again and again, as it does before anybody has come.
"""

import asyncio
import contextlib
import time
from collections import Counter
from typing import Any

import httpx
from playwright.async_api import Page, Request

from benchmarks.browser import TIMING, async_chromium
from benchmarks.faulty_server import Server
from benchmarks.load import percentiles, percentiles_table
from benchmarks.machine import arguments, report
from bertviz_lab.ui.server import assets

_PAUSE = 4.0  # seconds between two texts of a visitor
_EXPORT_SECONDS = 900.0  # of all shipped models, one after the other
_WORDS = ("old", "small", "great", "new", "young", "first", "last", "long")


async def exported(address: str) -> None:
    """Wait until every shipped model is offered to browsers."""
    end = time.monotonic() + _EXPORT_SECONDS
    async with httpx.AsyncClient(base_url=address) as client:
        while time.monotonic() < end:
            offer = (await client.get("lab-engine/offer.json")).json()
            if len(offer["facts"]) >= 11:
                return
            await asyncio.sleep(2)
    raise TimeoutError("the models were not exported in time")


async def probe(address: str, milliseconds: list[float]) -> None:
    """Ask for a file twice a second."""
    async with httpx.AsyncClient(base_url=address) as client:
        while True:
            began = time.perf_counter()
            (await client.get(f"{assets.folder()}/client/main.js")).raise_for_status()
            milliseconds.append(1000 * (time.perf_counter() - began))
            await asyncio.sleep(0.5)


@contextlib.asynccontextmanager
async def probed(address: str, milliseconds: list[float]) -> Any:
    """Ask for a file while the block runs."""
    task = asyncio.create_task(probe(address, milliseconds))
    try:
        yield
    finally:
        task.cancel()


def kind_of(request: Request) -> str:
    """A request to the server in words: a question by its name, or a file."""
    if request.url.endswith("lab/ask"):
        body = request.post_data_json
        return f"{body['view']}.{body['question']}"
    return "models and modules of the engine" if "lab-engine/" in request.url else "other files"


async def attend(page: Page, number: int, end: float, milliseconds: list[float]) -> None:
    """Ask about a text of their own, again and again, and note the time from the key to the painted bars."""
    await asyncio.sleep(_PAUSE * (number % 10) / 10)
    turn = 0
    while time.monotonic() < end:
        turn += 1
        text = f"The {_WORDS[turn % len(_WORDS)]} [MASK] of visitor {number} was in the city."
        milliseconds.append(await page.evaluate(TIMING, ["change", {"text": text, "watch": "#fill-bars .blanks"}]))
        await asyncio.sleep(_PAUSE)


async def measure(server: Server, visitors: int, seconds: float) -> dict[str, Any]:
    """Every figure by its name."""
    await exported(server.address)
    before: list[float] = []
    async with probed(server.address, before):
        await asyncio.sleep(15)
    asked: Counter[str] = Counter()
    painted, opened, during = [list[float]() for _ in range(3)]
    async with async_chromium() as browser:
        pages = []
        began, work = time.monotonic(), server.seconds_of_work()
        for _ in range(visitors):
            start = time.perf_counter()
            page = await (await browser.new_context()).new_page()
            await page.goto(server.address)
            await page.locator("#fill-bars .bar-row").first.wait_for(timeout=120_000)
            opened.append(1000 * (time.perf_counter() - start))
            page.on("request", lambda request: asked.update([kind_of(request)]))
            pages.append(page)
        opening = (server.seconds_of_work() - work) / (time.monotonic() - began)
        asked.clear()
        began, work = time.monotonic(), server.seconds_of_work()
        async with probed(server.address, during), asyncio.TaskGroup() as tasks:
            for number, page in enumerate(pages):
                tasks.create_task(attend(page, number, began + seconds, painted))
        asking = (server.seconds_of_work() - work) / (time.monotonic() - began)
    return {
        "visitors": visitors,
        "seconds": seconds,
        "milliseconds": {
            "first painted prediction": percentiles(opened),
            "fill-mask, press to painted": percentiles(painted),
            "a file of the server, nobody there": percentiles(before),
            "a file of the server, meanwhile": percentiles(during),
        },
        "server_cores": {"opening": round(opening, 3), "asking": round(asking, 3)},
        "requests": dict(asked.most_common()),
    }


def table(result: dict[str, Any]) -> str:
    """Times, then what the server was asked."""
    requests = ", ".join(f"{name}: {count:,}" for name, count in result["requests"].items()) or "none"
    cores = result["server_cores"]
    return "\n\n".join(
        [
            f"{result['visitors']} visitors for {result['seconds']:g} s, each with a browser on the same cores. Goals: "
            "the server's processor time under 5% of a core, and what it serves as fast as a file.",
            percentiles_table(result["milliseconds"]),
            f"Processor time of the server: {cores['asking']:.1%} of a core while they ask, {cores['opening']:.1%} "
            "while they open the page, one after the other.",
            f"Requests to the server while they ask: {requests}.",
        ]
    )


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--visitors", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=60, help="of asking")
    options = parser.parse_args()
    with Server(faulty=False, options=("--browser-engine", "on")) as server:
        server.start()
        report("engine_load", asyncio.run(measure(server, options.visitors, options.seconds)), table)


if __name__ == "__main__":
    main()
