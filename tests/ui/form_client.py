"""A visitor without a browser: uploads files, asks questions and calls endpoints of a running page over HTTP."""

import json
import secrets
from pathlib import Path
from typing import Any

import httpx


class FormClient:
    """What the page's own scripts send."""

    def __init__(self, address: str) -> None:
        self.http = httpx.Client(base_url=address, timeout=120)
        self.http.get("")  # the cookie

    def close(self) -> None:
        self.http.close()

    def upload(self, path: Path) -> str:
        """Upload a file and return its token."""
        with path.open("rb") as file:
            return str(self.http.post("lab/upload", files={"file": (path.name, file)}).json()["token"])

    def ask(self, view: str, question: str, **arguments: Any) -> Any:
        """Return the answer to a question of a view, or its error as {"error": a sentence}."""
        body = {"ticket": secrets.token_hex(6), "view": view, "question": question, "arguments": arguments}
        answer = self.http.post("lab/ask", json=body).json()
        return answer if "error" in answer else answer["answer"]

    def call(self, endpoint: str, *arguments: Any) -> Any:
        """Return the answer of a named endpoint, or its error as {"error": a sentence}."""
        event = self.http.post(f"gradio_api/call/{endpoint}", json={"data": list(arguments)}).json()["event_id"]
        kind, answer = "", None
        with self.http.stream("GET", f"gradio_api/call/{endpoint}/{event}") as stream:
            for line in stream.iter_lines():
                kind = line.removeprefix("event: ") if line.startswith("event: ") else kind
                if line.startswith("data: ") and kind in ("complete", "error"):
                    answer = json.loads(line.removeprefix("data: "))
                    return answer[0] if kind == "complete" else answer
        raise AssertionError("the page gave no answer")
