"""A workshop: thirty visitors who ask, upload and train for an hour, with faults or without; times, errors, mix-ups.

Visitors are sessions as a browser has them, without a browser (`visitor.py`); `--browsers` adds some real ones. Clients
and server share the machine's cores. An answer is mixed up if it is not for the visitor's own text: each has a name of
its own in every text, and the probability of a next sentence is compared with one computed before.
"""

import asyncio
import contextlib
import json
import random
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from benchmarks.browser import TIMING, async_chromium
from benchmarks.faulty_server import Server
from benchmarks.machine import arguments, markdown, report
from benchmarks.visitor import PageError, Visitor

_PAUSE = (2.0, 5.0)  # seconds between two questions
_ADJECTIVES = ("old", "small", "great", "new", "young", "first", "last", "long")
_NOUNS = ("king", "city", "river", "church", "school", "army", "house", "book", "game", "song")
_MODELS = ("wiki-mini", "wiki-mini", "wiki-tiny")
_GRACE = 15.0  # seconds after a restart in which a visitor may have to ask again
_ENDED = ("finished", "stopped", "failed")


@dataclass
class Record:
    """What all visitors have met."""

    milliseconds: defaultdict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    errors: Counter[str] = field(default_factory=Counter)
    interrupted: int = 0  # requests while the server was away
    mixed_up: int = 0
    checked: int = 0
    runs_started: int = 0
    runs_finished: int = 0
    runs_lost: int = 0
    away_until: float = 0.0  # on the monotonic clock

    @contextlib.asynccontextmanager
    async def timed(self, name: str) -> AsyncIterator[None]:
        """Time a request; an error is counted and does not end the visitor."""
        began = time.monotonic()
        try:
            yield
            self.milliseconds[name].append(1000 * (time.monotonic() - began))
        except (httpx.HTTPError, PageError, ValueError, TimeoutError) as error:
            if began < self.away_until:
                self.interrupted += 1
            else:
                self.errors[f"{name}: {type(error).__name__} {error}"[:160]] += 1

    def check(self, is_own: bool) -> None:
        self.checked += 1
        self.mixed_up += not is_own


@dataclass
class Participant:
    """One visitor of the workshop: what they ask, and that every answer is theirs."""

    visitor: Visitor
    name: str  # occurs in all their texts
    expected_next: float  # the probability that B follows A, computed before
    record: Record
    trains: bool
    run_seconds: int
    ends: float

    @property
    def pair(self) -> dict[str, str]:
        return pair_of(self.name)

    def text(self) -> str:
        """A text that nobody else asks about, and they only once."""
        words = random.choice(_ADJECTIVES), random.choice(_NOUNS), random.choice(_NOUNS)
        return f"The {words[0]} {words[1]} of {self.name} was a [MASK] of the {words[2]}."

    async def take_part(self) -> None:
        """Until the end of the workshop."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._ask())
            if self.trains:
                tasks.create_task(self._train())

    async def _ask(self) -> None:
        await asyncio.sleep(random.uniform(0, _PAUSE[1]))
        await self._open()
        questions = (self._fill_mask, self._fill_mask, self._next_sentence, self._attention, self._attribution)
        every: tuple[Callable[[], Awaitable[None]], ...] = (*questions, self._scrubber)
        for number in range(random.randrange(20), 1_000_000):  # so that not everybody uploads at the same time
            if time.monotonic() > self.ends:
                return
            if number % 40 == 39:
                await self._open()  # a reload
            await (self._upload if number % 20 == 7 else random.choice(every))()
            await asyncio.sleep(random.uniform(*_PAUSE))

    async def _open(self) -> None:
        async with self.record.timed("page"):
            await self.visitor.open()

    async def _fill_mask(self) -> None:
        asked = {"model": random.choice(_MODELS), "text_a": self.text(), "text_b": "", "top_k": 5, "word": ""}
        async with self.record.timed("fill-mask"):
            answer = await self.visitor.ask("predictions", "mlm", **asked)
            self._check_tokens(answer["encoding"]["tokens"])

    async def _next_sentence(self) -> None:
        async with self.record.timed("next sentence"):
            answer = await self.visitor.ask("predictions", "nsp", model="wiki-mini", **self.pair)
            self.record.check(abs(answer["is_next"] - self.expected_next) < 1e-3)

    async def _attention(self) -> None:
        asked = {"model": random.choice(_MODELS), "text_a": self.text(), "text_b": ""}
        async with self.record.timed("attention"):
            answer = await self.visitor.ask("attention", "attention", **asked)
            self._check_tokens(answer["tokens"])

    async def _attribution(self) -> None:
        asked = {"model": random.choice(_MODELS), "text_a": self.text(), "text_b": "", "kind": "token"}
        async with self.record.timed("attribution"):
            answer = await self.visitor.ask(
                "attribution", "attribution", position=None, choice="", contrast="", **asked
            )
            self._check_tokens(json.loads(answer["tokens"])["encoding"]["tokens"])

    async def _scrubber(self) -> None:
        text, opening = f"{self.name} sat on the [MASK].", {"steps": ()}
        async with self.record.timed("scrubber"):
            opening = await self.visitor.ask("dynamics", "opening", run="tiny-town", text_a=text, text_b="", words="")
            self._check_tokens(opening["tokens"])
        for step in random.sample(opening["steps"], min(3, len(opening["steps"]))):
            async with self.record.timed("scrubber frame"):
                await self.visitor.ask("dynamics", "frame", step=step, **opening["question"])

    async def _upload(self) -> None:
        token = ""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"{self.name}.txt"
            path.write_text(f"The castle of {self.name} was old. It stood above a town.\n\n" * 40, encoding="utf-8")
            async with self.record.timed("upload"):
                token = await self.visitor.upload(path)
        if not token:
            return
        async with self.record.timed("corpus health"):
            await self.visitor.ask("pretrain", "check", source="own", files=[token], values={})

    def _check_tokens(self, tokens: list[str]) -> None:
        self.record.check(self.name in "".join(token.removeprefix("##") for token in tokens))

    # ---- training

    async def _train(self) -> None:
        """A short training in the queue, again and again; one that is interrupted is resumed."""
        while not self.visitor.is_open:
            await asyncio.sleep(0.5)
        while time.monotonic() < self.ends - self.run_seconds:
            run_id = ""
            async with self.record.timed("start of a run"):
                changes = {"time_budget": f"{self.run_seconds}s", "preset": "tiny"}
                run_id = await self.visitor.train(changes)
            if run_id:
                self.record.runs_started += 1
                await self._follow(run_id)
            await asyncio.sleep(random.uniform(*_PAUSE))

    async def _follow(self, run_id: str) -> None:
        while True:
            now: dict[str, Any] | None = {"status": "unknown"}
            async with self.record.timed("run strip"):
                now = (await self.visitor.ask("runs", "glances", runs=[run_id]))[run_id]
            if now is None:
                self.record.runs_lost += 1
                return
            if now["status"] == "finished":
                self.record.runs_finished += 1
                await self._change(run_id, "delete")
                return
            if now["status"] in _ENDED:
                await self._change(run_id, "resume")
            if time.monotonic() > self.ends + self.run_seconds:  # it may still wait in the queue
                await self._change(run_id, "stop")
                return
            await asyncio.sleep(2)

    async def _change(self, run_id: str, action: str) -> None:
        async with self.record.timed("change of a run"):
            await self.visitor.ask("runs", "change", action=action, run_id=run_id)


def pair_of(name: str) -> dict[str, str]:
    """Two texts of a visitor."""
    return {"text_a": f"The castle of {name} was old.", "text_b": "It stood on a hill above the town."}


def names(count: int) -> list[str]:
    """Names that no vocabulary has, and that are not parts of each other."""
    rng = random.Random(0)
    made: set[str] = set()
    while len(made) < count:
        made.add("".join(rng.choice("bdfgklmnprstvz") + rng.choice("aeiou") for _ in range(4)))
    return sorted(made)


def expected_next(made: list[str]) -> list[float]:
    """What the page must answer about each visitor's pair."""
    from bertviz_lab import load_checkpoint
    from bertviz_lab.interpret import next_sentence

    checkpoint = load_checkpoint("wiki-mini")
    return [next_sentence(checkpoint, *pair_of(name).values()).is_next for name in made]


async def befall(server: Server, record: Record, minutes: float, happened: Counter[str]) -> None:
    """The faults of the hour, spread over it: a killed worker each five minutes, and each of the others once."""
    began, kills = time.monotonic(), 0
    plan: list[tuple[float, str]] = [(0.3, "full disk"), (0.5, "clock set back"), (0.7, "restart")]
    while True:
        await asyncio.sleep(1)
        share = (time.monotonic() - began) / (60 * minutes)
        if share * max(minutes, 15) / 5 > kills + 0.5:  # a short run has three of them, too
            kills += 1
            happened["killed worker"] += await asyncio.to_thread(server.kill_worker)
        if plan and share > plan[0][0]:
            _, fault = plan.pop(0)
            if not server.faults.get(fault, True):
                continue
            happened[fault] += 1
            if fault == "full disk":
                record.away_until = time.monotonic() + 20 + _GRACE  # uploads and starts may be refused
                with server.full_disk():
                    await asyncio.sleep(20)
            elif fault == "clock set back":
                server.set_clock(-3600)
            else:
                record.away_until = float("inf")
                await asyncio.to_thread(server.stop)
                await asyncio.to_thread(server.start)
                record.away_until = time.monotonic() + _GRACE


async def watch_memory(server: Server, samples: list[tuple[float, int]]) -> None:
    """Resident memory every two seconds."""
    began = time.monotonic()
    while True:
        with contextlib.suppress(Exception):  # it is being restarted
            samples.append((time.monotonic() - began, server.memory()))
        await asyncio.sleep(2)


async def browse(address: str, count: int, seconds: float, longest: list[float]) -> None:
    """Real browsers among the visitors: how long each page was frozen at the longest, in milliseconds."""
    async with async_chromium() as browser:
        pages = [await (await browser.new_context()).new_page() for _ in range(count)]
        for page in pages:
            await page.goto(address)
            await page.locator("#text-a").wait_for(timeout=60_000)
            await page.evaluate(TIMING, ["pauses", None])
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for number, page in enumerate(pages):
                words = f"The {random.choice(_ADJECTIVES)} {random.choice(_NOUNS)} was a [MASK] number {number}."
                await page.locator("#text-a").fill(words)
                await page.locator("#text-a").press("Enter")
            await asyncio.sleep(4)
        longest += [await page.evaluate("() => window.longest") for page in pages]


async def attend(
    server: Server, count: int, minutes: float, faults: bool, browsers: int, run_seconds: int
) -> dict[str, Any]:
    """The workshop itself."""
    record, samples, longest = Record(), list[tuple[float, int]](), list[float]()
    happened: Counter[str] = Counter()
    made = names(count)
    probabilities = expected_next(made)
    began = time.monotonic()
    before = server.seconds_of_work()
    beside = [asyncio.create_task(watch_memory(server, samples))]
    if faults:
        beside.append(asyncio.create_task(befall(server, record, minutes, happened)))
    async with contextlib.AsyncExitStack() as stack, asyncio.TaskGroup() as tasks:
        for number, (name, expected) in enumerate(zip(made, probabilities, strict=True)):
            # Linux has all of 127.0.0.0/8 for itself: each visitor is a machine of its own, as in a workshop.
            visitor = Visitor(server.address, timeout=120.0, own_address=f"127.0.1.{number + 1}")
            await stack.enter_async_context(visitor)
            end = began + 60 * minutes
            participant = Participant(visitor, name, expected, record, number % 10 == 0, run_seconds, end)
            tasks.create_task(participant.take_part())
        if browsers:
            tasks.create_task(browse(server.address, browsers, 60 * minutes, longest))
    for task in beside:
        if task.done():
            task.result()  # raises what ended it
        task.cancel()
    seconds = time.monotonic() - began
    settled = min(600.0, seconds / 2)
    after_ten = [memory for at, memory in samples if at <= settled][-1]
    return {
        "visitors": count,
        "minutes": minutes,
        "milliseconds": {name: percentiles(times) for name, times in sorted(record.milliseconds.items())},
        "errors": dict(record.errors.most_common()),
        "interrupted": record.interrupted,
        "answers_checked": record.checked,
        "mixed_up": record.mixed_up,
        "runs": {"started": record.runs_started, "finished": record.runs_finished, "lost": record.runs_lost},
        "memory": {"settled_at_s": round(settled), "settled": after_ten, "end": samples[-1][1]},
        "server_cores": round((server.seconds_of_work() - before) / seconds, 2) if not faults else None,
        "faults": dict(happened),
        "impossible_faults": [name for name, possible in server.faults.items() if faults and not possible],
        "longest_task_ms": [round(at) for at in longest],
    }


_PERCENTILES = ("p50", "p95", "p99", "max")


def percentiles(times: list[float]) -> dict[str, float]:
    """Of some milliseconds."""
    values = [*np.percentile(times, [50, 95, 99]), max(times)]
    rounded = (round(float(value), 1) for value in values)
    return {"asked": len(times), **dict(zip(_PERCENTILES, rounded, strict=True))}


def percentiles_table(milliseconds: dict[str, dict[str, float]]) -> str:
    """Return a table of named `percentiles`."""
    columns = ("asked", *_PERCENTILES)
    rows = [[name, *(f"{at[key]:,.0f}" for key in columns)] for name, at in milliseconds.items()]
    return markdown(["milliseconds", *columns], rows)


def measure(
    count: int, minutes: float, *, faults: bool = False, browsers: int = 0, run_seconds: int = 60
) -> dict[str, Any]:
    """Serve, attend, and look at what is left."""
    with Server(faulty=faults, options=("--runs-per-visitor", "5", "--browser-engine", "off")) as server:
        server.start()
        result = asyncio.run(attend(server, count, minutes, faults, browsers, run_seconds))
        server.stop()
        return result | {"left": server.files_left(), "tracebacks": server.tracebacks()}


def table(result: dict[str, Any]) -> str:
    """Times by question, then the rest in a sentence each."""
    runs, memory, left = result["runs"], result["memory"], result["left"]
    ratio = memory["end"] / memory["settled"]
    lines = [
        f"{result['visitors']} visitors for {result['minutes']:g} minutes, each asking every 2-5 s; clients and server "
        "on the same cores. Goals: fill-mask p95 500 ms, p99 2 s, no errors or mixed-up answers, memory at most 1.1 x.",
        percentiles_table(result["milliseconds"]),
        f"Errors: {sum(result['errors'].values())}. Mixed-up answers: {result['mixed_up']} of "
        f"{result['answers_checked']:,} checked. Tracebacks in the log: {result['tracebacks']}.",
        f"Runs: {runs['started']} started, {runs['finished']} finished, {runs['lost']} lost.",
        f"Resident memory: {memory['settled'] / 1e6:,.0f} MB after {memory['settled_at_s']} s, "
        f"{memory['end'] / 1e6:,.0f} MB at the end ({ratio:.2f} x).",
        f"Left behind: {left['temporary files']} temporary files, {left['runs']} runs.",
    ]
    if result["faults"] or result["impossible_faults"]:
        told = ", ".join(f"{name}: {count}" for name, count in result["faults"].items())
        missing = ", ".join(result["impossible_faults"])
        lines.append(
            f"Faults: {told}{f'; impossible here: {missing}' if missing else ''}. Requests while the server "
            f"was away: {result['interrupted']}."
        )
    if result["longest_task_ms"]:
        lines.append(f"Longest task of each browser, ms: {', '.join(map(str, result['longest_task_ms']))}.")
    lines += [f"- {count} x {error}" for error, count in result["errors"].items()]
    return "\n\n".join(lines)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--visitors", type=int, default=30)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument(
        "--faults", action="store_true", help="kill workers, fill the disk, set the clock back, restart"
    )
    parser.add_argument("--browsers", type=int, default=0, help="real browsers among the visitors")
    options = parser.parse_args()
    result = measure(options.visitors, options.minutes, faults=options.faults, browsers=options.browsers)
    report("load", result, table)


if __name__ == "__main__":
    main()
