"""Requests to a running page whose headers and bodies are all one's own."""

import http.client
import json
from urllib.parse import urlsplit


class Server:
    """Sends requests whose headers are all one's own."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.port = urlsplit(address).port or 0

    def ask(
        self, path: str = "/", headers: dict[str, str] | None = None, method: str = "GET", body: bytes | None = None
    ) -> tuple[int, str, dict[str, str]]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, path, body, {"Host": f"127.0.0.1:{self.port}"} | (headers or {}))
            answer = connection.getresponse()
            return answer.status, answer.read().decode(errors="replace"), {k.lower(): v for k, v in answer.getheaders()}
        finally:
            connection.close()

    def status(self, path: str = "/config", method: str = "GET", **headers: str) -> int:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.ask(path, named, method)[0]

    def send(self, path: str, value: object, **headers: str) -> tuple[int, str, dict[str, str]]:
        named = {name.replace("_", "-"): text for name, text in headers.items()}
        body = json.dumps(value).encode()
        return self.ask(path, {"Content-Type": "application/json"} | named, "POST", body)
