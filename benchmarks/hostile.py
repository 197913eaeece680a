"""Three hundred hostile inputs to a running shared page, and a visitor beside them who only wants an answer.

Uploads, texts, arguments, models, bodies, headers and links, one after another. Counted are tracebacks in the server's
log, answers that are failures of the server, scripts that run in a real browser, what the other visitor waited, and the
memory of the server beyond what it needs for its models.
"""

import asyncio
import http.client
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx

from benchmarks.browser import async_chromium
from benchmarks.faulty_server import Server
from benchmarks.hostile_inputs import HEADERS, MODELS, PATHS, QUESTIONS, SCRIPTS, TEXTS, VALUES, files
from benchmarks.machine import arguments, markdown, report
from benchmarks.visitor import PageError, Visitor

_PATIENCE = 5.0  # seconds for an answer to a request that promises more than it holds
_JSON = {"Content-Type": "application/json"}


class StatusError(Exception):
    """The status of an answer, 400 or above."""

    def __init__(self, status: int) -> None:
        super().__init__(str(status))
        self.status = status


class Attack:
    """One hostile visitor: what was sent, by group, and how it was answered."""

    def __init__(self, visitor: Visitor) -> None:
        self.visitor = visitor
        self.sent: Counter[str] = Counter()
        self.answers: Counter[str] = Counter()
        self.failures: list[str] = []  # answers that are failures of the server
        self.seconds: list[tuple[float, str]] = []

    async def send(self, group: str, name: object, asked: Callable[[], Awaitable[Any]]) -> None:
        """Send one input; a sentence is as good an answer as a result, a status of 500 is none."""
        self.sent[group] += 1
        began = time.monotonic()
        try:
            await asked()
            kind = "answered"
        except PageError as error:
            kind = "refused in a sentence"
            if "something went wrong" in str(error).lower() or not str(error).strip():
                self.failures.append(f"{group} {name!r}: {error}"[:200])
        except (httpx.HTTPStatusError, StatusError) as error:
            status = error.status if isinstance(error, StatusError) else error.response.status_code
            kind = f"status {status}"
            if status >= 500:
                self.failures.append(f"{group} {name!r}: {kind}"[:200])
        except (httpx.HTTPError, http.client.HTTPException, OSError, ValueError):
            kind = "no request"  # the client's library has no such request, or the server closes the connection
        self.answers[kind] += 1
        self.seconds.append((time.monotonic() - began, f"{group} {str(name)[:40]!r}"))

    async def texts(self) -> None:
        for text in (*TEXTS, *SCRIPTS):
            asked = {"model": "wiki-tiny", "text_a": text, "text_b": text[:50]}
            await self.send(
                "texts", text[:30], lambda a=asked: self._ask("predictions", "mlm", a | {"top_k": 5, "word": ""})
            )
            await self.send("texts", text[:30], lambda a=asked: self.visitor.ask("attention", "attention", **a))

    async def questions(self) -> None:
        for view, name, given, attacked in QUESTIONS:
            for argument in attacked:
                for value in VALUES:
                    sent = given | {argument: value}
                    label = f"{view}.{name} {argument}={value!r:.20}"
                    await self.send("arguments", label, lambda v=view, n=name, s=sent: self._ask(v, n, s))

    async def _ask(self, view: str, name: str, sent: dict[str, Any]) -> Any:
        model = {} if view in ("dynamics", "run", "compare") or "model" in sent else {"model": "wiki-tiny"}
        return await self.visitor.ask(view, name, **model, **sent)

    async def models(self) -> None:
        for model in MODELS:
            sent = {"model": model, "text_a": "The [MASK] sat.", "text_b": "", "top_k": 5, "word": ""}
            await self.send("models", model, lambda s=sent: self.visitor.ask("predictions", "mlm", **s))

    async def links(self) -> None:
        for path in PATHS:
            await self.send("links", path, lambda p=path: self._request("GET", p, {}))

    async def headers(self) -> None:
        for headers in HEADERS:
            await self.send("headers", headers, lambda h=headers: self._request("GET", "", h))
            await self.send("headers", headers, lambda h=headers: self._request("POST", "lab/ask", h, b"{}"))

    async def bodies(self) -> None:
        nested = b'{"data": ' * 20_000
        for body in (
            b"",
            b"{",
            b"\xff\xfe",
            b"[" * 200_000,
            nested,
            b'{"data": [1e999, NaN]}',
            b"0" * 900_000,
            b"null",
        ):
            for path in (
                "lab/ask",
                "gradio_api/component_server",
                "gradio_api/queue/join",
                "gradio_api/call/fill_mask",
            ):
                await self.send("bodies", body[:20], lambda p=path, b=body: self._request("POST", p, _JSON, b))

    async def uploads(self, folder: Path) -> None:
        for path in files(folder):
            await self.send("uploads", path.name, lambda p=path: self._upload(p))

    async def _upload(self, path: Path) -> None:
        files = [await self.visitor.upload(path)]
        await self.visitor.ask("pretrain", "check", source="own", files=files, values={})
        await self.visitor.ask("finetune", "check", source="own", files=files, scored=[], values={})

    async def _request(self, method: str, path: str, headers: dict[str, str], body: bytes | None = None) -> None:
        """A request that a careful library would not send; the server may close the connection without an answer."""

        def ask() -> int:
            host = self.visitor.client.base_url.host, self.visitor.client.base_url.port
            connection = http.client.HTTPConnection(*host, timeout=_PATIENCE)
            try:
                connection.request(method, f"/{path}", body, headers)
                return connection.getresponse().status
            finally:
                connection.close()

        status = await asyncio.to_thread(ask)
        if status >= 400:
            raise StatusError(status)


class Neighbour:
    """A visitor who asks a question each second and gets the right answer."""

    def __init__(self, visitor: Visitor) -> None:
        self.visitor = visitor
        self.seconds: list[float] = []
        self.wrong = 0

    async def ask_on(self) -> None:
        """Until it is cancelled."""
        while True:
            began = time.monotonic()
            sent = {"model": "wiki-tiny", "text_a": "The king of [MASK] was old.", "text_b": "", "top_k": 5, "word": ""}
            answer = await self.visitor.ask("predictions", "mlm", **sent)
            self.seconds.append(time.monotonic() - began)
            self.wrong += answer["encoding"]["tokens"][1:4] != ["the", "king", "of"]
            await asyncio.sleep(1)


async def scripts_that_run(address: str) -> int:
    """In how many of some pages, opened by a link with a script in its texts, it runs."""
    async with async_chromium() as browser:
        page, ran = await browser.new_page(), 0
        for script in SCRIPTS:
            await page.goto(f"{address}?text_a={quote(script)}&text_b={quote(script)}&model={quote(script)}")
            await page.locator("#text-a").wait_for(timeout=60_000)
            await page.wait_for_timeout(1500)
            ran += bool(await page.evaluate("() => window.attacked === 1"))
        return ran


async def attack(server: Server, groups: tuple[str, ...], browser: bool) -> dict[str, Any]:
    """All inputs of the groups, one after another."""
    most, warm = 0, 0
    async with (
        Visitor(server.address, timeout=30.0) as hostile,
        Visitor(server.address, own_address="127.0.0.2") as good,
    ):
        await hostile.open()
        await good.open()
        attacker, neighbour = Attack(hostile), Neighbour(good)
        for model in ("wiki-tiny", "tiny-town", "wiki-mini"):  # what the server needs for its models
            sent = {"model": model, "text_a": "a " * 400, "text_b": ""}
            await hostile.ask("attention", "attention", **sent)
        warm = server.memory()

        async def watch() -> None:
            nonlocal most
            while True:
                most = max(most, server.memory())
                await asyncio.sleep(0.2)

        beside = [asyncio.create_task(neighbour.ask_on()), asyncio.create_task(watch())]
        with tempfile.TemporaryDirectory() as folder:
            for group in groups:
                await (attacker.uploads(Path(folder)) if group == "uploads" else getattr(attacker, group)())
        for task in beside:
            if task.done():
                task.result()  # raises what ended it
            task.cancel()
    return {
        "sent": dict(attacker.sent),
        "answers": dict(attacker.answers),
        "failures": attacker.failures,
        "slowest": [f"{name}: {seconds:.1f} s" for seconds, name in sorted(attacker.seconds, reverse=True)[:5]],
        "neighbour": {"asked": len(neighbour.seconds), "slowest_s": max(neighbour.seconds), "wrong": neighbour.wrong},
        "memory": {"before": warm, "most": most},
        "scripts": await scripts_that_run(server.address) if browser else None,
    }


GROUPS = ("texts", "questions", "models", "links", "headers", "bodies", "uploads")


def measure(groups: tuple[str, ...] = GROUPS, *, browser: bool = True) -> dict[str, Any]:
    """Serve a shared page, attack it, and read its log."""
    with Server(faulty=False, options=("--browser-engine", "off")) as server:
        server.start()
        result = asyncio.run(attack(server, groups, browser))
        server.stop()
        attacked = any(Path(place).exists() for place in ("attacked", "attacked.txt", server.home / "attacked.txt"))
        return result | {"tracebacks": server.tracebacks(), "escaped": attacked}


def table(result: dict[str, Any]) -> str:
    """What was sent, how it was answered, and what it did to others."""
    memory, neighbour = result["memory"], result["neighbour"]
    scripts = "" if result["scripts"] is None else f" Scripts that ran in a browser: {result['scripts']}."
    lines = [
        markdown(["inputs", "sent"], [[name, str(count)] for name, count in result["sent"].items()]),
        markdown(["answer", "times"], [[name, str(count)] for name, count in sorted(result["answers"].items())]),
        f"{sum(result['sent'].values())} inputs. Tracebacks: {result['tracebacks']}. Failures of the server: "
        f"{len(result['failures'])}.{scripts}",
        f"A visitor beside them asked {neighbour['asked']} times, waited {neighbour['slowest_s']:.1f} s at the longest "
        f"and got {neighbour['wrong']} wrong answers.",
        f"Memory of the server: {memory['before'] / 1e6:,.0f} MB with its models open, "
        f"{memory['most'] / 1e6:,.0f} MB at most.",
        f"Slowest: {'; '.join(result['slowest'])}.",
    ]
    return "\n\n".join(lines + [f"- {failure}" for failure in result["failures"]])


def main() -> None:
    arguments(__doc__).parse_args()
    report("hostile", measure(), table)


if __name__ == "__main__":
    main()
