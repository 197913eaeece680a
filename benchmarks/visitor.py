"""A visitor of the page without a browser: the requests that its scripts would send, with a session and cookies."""

import asyncio
import json
import re
import secrets
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx

_EVENT_SECONDS = 180.0  # in which an event must be answered
_CONFIG = re.compile(r"window\.gradio_config = (\{.*?\});\s*</script>", re.DOTALL)


class PageError(Exception):
    """The page answered with a sentence for its visitor."""


class Visitor:
    """One browser's session with a page; `own_address` is the network address that its requests come from."""

    def __init__(
        self,
        address: str,
        *,
        timeout: float = 60.0,
        auth: tuple[str, str] | None = None,
        own_address: str | None = None,
    ) -> None:
        # A connection that has been idle may be closed by the server just then: browsers send the request again.
        limits = httpx.Limits(keepalive_expiry=1.0)
        transport = httpx.AsyncHTTPTransport(limits=limits, local_address=own_address)
        self.client = httpx.AsyncClient(base_url=address, timeout=timeout, follow_redirects=True, transport=transport)
        self.session = secrets.token_hex(6)
        self.config: dict[str, Any] = {}
        self._auth = auth
        self._events = asyncio.Lock()  # a session has one stream of events: who reads it takes the news of all

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.client.aclose()

    async def open(self) -> None:
        """Load the page, its scripts, and what its load event sends."""
        if self._auth:
            await self._post("login", data={"username": self._auth[0], "password": self._auth[1]})
        page = await self.client.get("")
        page.raise_for_status()
        match = _CONFIG.search(page.text)
        if match is None:
            raise PageError("The page has no configuration.")
        self.config = json.loads(match[1])
        for script in re.findall(r'href="(lab-static/[^"]+)"', page.text):
            (await self.client.get(script)).raise_for_status()
        load = next(event for event in self.config["dependencies"] if "load" in [name for _, name in event["targets"]])
        body = {"data": [], "fn_index": load["id"], "session_hash": self.session}
        async with self._events:
            joined = (await self._post("gradio_api/queue/join", json=body)).json()["event_id"]
            async with asyncio.timeout(_EVENT_SECONDS):
                await self._completion(joined)

    async def _completion(self, event_id: str) -> None:
        """Read the stream of events until one is completed. Raises `PageError` where it fails."""
        path = f"gradio_api/queue/data?session_hash={self.session}"
        async with self.client.stream("GET", path, timeout=httpx.Timeout(60.0, read=120.0)) as stream:
            async for line in stream.aiter_lines():
                message = json.loads(line[5:]) if line.startswith("data:") else {}
                if message.get("event_id") == event_id and message["msg"] == "process_completed":
                    if not message["success"]:
                        raise PageError(str(message["output"].get("error")))
                    return
        raise PageError("The stream of events ended without an answer.")

    async def ask(
        self, view: str, question: str, timeout: float | None = None, *, sent_as: str = "", **arguments: Any
    ) -> Any:
        """Return the answer to a question of a view; large arrays are left out. `sent_as` is the ticket of the request.

        Raises `PageError` with a sentence.
        """
        ticket = sent_as or secrets.token_hex(6)
        sent = {"ticket": ticket, "view": view, "question": question, "arguments": arguments}
        answer = await self._post("lab/ask", json=sent, timeout=timeout)
        if answer.headers["Content-Type"] != "application/json":
            return json.loads(answer.content[4 : 4 + int.from_bytes(answer.content[:4], "little")])
        body = answer.json()
        if "error" in body:
            raise PageError(body["error"])
        return body["answer"]

    async def upload(self, path: Path) -> str:
        """Send a file and return its token, which a question takes."""
        answer = (await self._post("lab/upload", files={"file": (path.name, path.read_bytes())})).json()
        if "error" in answer:
            raise PageError(answer["error"])
        return str(answer["token"])

    async def train(self, changes: dict[str, Any]) -> str:
        """Start a pretraining on the first text, the form as it opens but for `changes`; return the id of the run."""
        form = await self.ask("pretrain", "form")
        values = {field["name"]: field["value"] for group in form["groups"] for field in group["fields"]} | changes
        source = form["sources"][0][0]
        key = secrets.token_hex(6)
        return str(await self.ask("pretrain", "start", source=source, files=[], values=values, key=key))

    async def _post(self, path: str, timeout: float | None = None, **content: Any) -> httpx.Response:
        if "json" in content:  # as `JSON.stringify` spells it: half of a surrogate pair, too
            content = {"content": json.dumps(content["json"]), "headers": {"Content-Type": "application/json"}}
        wait = httpx.USE_CLIENT_DEFAULT if timeout is None else timeout
        answer = await self.client.post(path, timeout=wait, **content)
        answer.raise_for_status()
        return answer
