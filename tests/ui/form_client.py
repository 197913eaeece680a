"""A visitor without a browser: uploads files, fills in forms and asks endpoints of a running page over HTTP."""

import json
import secrets
from pathlib import Path
from typing import Any

import httpx


def queued(http: httpx.Client, event: dict[str, Any]) -> dict[str, Any]:
    """What comes of an event, {"data": [...]} or {"error": ...}; `http` has the address of the page as its base."""
    session = secrets.token_hex(6)
    http.post("gradio_api/queue/join", json=event | {"session_hash": session}).raise_for_status()
    with http.stream("GET", "gradio_api/queue/data", params={"session_hash": session}) as stream:
        for line in stream.iter_lines():
            message = json.loads(line.removeprefix("data: ")) if line.startswith("data: ") else {}
            if message.get("msg") == "process_completed":
                output: dict[str, Any] = message["output"]
                return output
    raise AssertionError("the page gave no answer")


class FormClient:
    """What a page's own script would send, from the page's configuration."""

    def __init__(self, address: str) -> None:
        self._http = httpx.Client(base_url=address, timeout=120)
        self._config = self._http.get("config").json()
        self._components = {component["id"]: component["props"] for component in self._config["components"]}

    def close(self) -> None:
        self._http.close()

    def upload(self, path: Path) -> list[dict[str, Any]]:
        """A file, as the value of a file field."""
        with path.open("rb") as file:
            (stored,) = self._http.post("gradio_api/upload", files={"files": (path.name, file)}).json()
        return [{"path": stored, "orig_name": path.name, "meta": {"_type": "gradio.FileData"}}]

    def form(self, field: str, output: str, values: dict[str, Any]) -> list[Any]:
        """The outputs of the event that reads `field` and shows `output`; both, and `values`, by `elem_id`.

        Other fields hold what the page opens with.
        """
        for event in self._config["dependencies"]:
            names = [self._components[i].get("elem_id") for i in event["inputs"]]
            if field in names and output in [self._components[i].get("elem_id") for i in event["outputs"]]:
                data = [
                    values.get(str(name), self._components[i].get("value"))
                    for i, name in zip(event["inputs"], names, strict=True)
                ]
                output = queued(self._http, {"data": data, "fn_index": event["id"]})
                return list(output.get("data") or [output.get("error")])
        raise AssertionError(f"no event reads {field} and shows {output}")

    def ask(self, endpoint: str, *arguments: Any) -> Any:
        """The answer of a named endpoint, or its error as {"error": a sentence}."""
        event = self._http.post(f"gradio_api/call/{endpoint}", json={"data": list(arguments)}).json()["event_id"]
        kind, answer = "", None
        with self._http.stream("GET", f"gradio_api/call/{endpoint}/{event}") as stream:
            for line in stream.iter_lines():
                kind = line.removeprefix("event: ") if line.startswith("event: ") else kind
                if line.startswith("data: ") and kind in ("complete", "error"):
                    answer = json.loads(line.removeprefix("data: "))
                    return answer[0] if kind == "complete" else answer
        raise AssertionError("the page gave no answer")
