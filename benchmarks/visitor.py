"""A visitor of the page without a browser: the requests that its scripts would send, with cookies."""

import json
import re
import secrets
from pathlib import Path
from typing import Any, Self

import httpx


class PageError(Exception):
    """The page answered with a sentence for its visitor."""


class Visitor:
    """One browser with a page open; `own_address` is the network address that its requests come from."""

    def __init__(
        self,
        address: str,
        *,
        timeout: float = 60.0,
        own_address: str | None = None,
    ) -> None:
        # A connection that has been idle may be closed by the server just then: browsers send the request again.
        limits = httpx.Limits(keepalive_expiry=1.0)
        transport = httpx.AsyncHTTPTransport(limits=limits, local_address=own_address)
        self.client = httpx.AsyncClient(base_url=address, timeout=timeout, follow_redirects=True, transport=transport)
        self.is_open = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.client.aclose()

    async def open(self) -> None:
        """Load the page, its scripts, and the run that it follows."""
        page = await self.client.get("")
        page.raise_for_status()
        for script in re.findall(r'href="(lab-static/[^"]+)"', page.text):
            (await self.client.get(script)).raise_for_status()
        await self.ask("runs", "current")
        self.is_open = True

    async def ask(self, view: str, question: str, timeout: float | None = None, **arguments: Any) -> Any:
        """Return the answer to a question of a view; large arrays are left out. Raises `PageError` with a sentence."""
        sent = {"ticket": secrets.token_hex(6), "view": view, "question": question, "arguments": arguments}
        answer = await self._post("lab/ask", json=sent, timeout=timeout)
        if answer.headers["Content-Type"] != "application/json":
            header = json.loads(answer.content[8 : 8 + int.from_bytes(answer.content[:8], "little")])
            return json.loads(header["__metadata__"]["body"])
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
