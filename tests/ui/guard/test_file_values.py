"""File values that an event brings to a running server: nothing but the visitor's own uploads passes."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import psutil
import pytest

from bertviz_lab.jobs.retention import bytes_below
from bertviz_lab.ui.server.visitors import COOKIE
from tests.ui.guard.raw_requests import Server
from tests.ui.pages import OWNERS_KEY, STRANGERS_KEY, little_settings, serve

FILE = {"_type": "gradio.FileData"}
FORM = {"Content-Type": "multipart/form-data; boundary=x"}
PART = b'--x\r\nContent-Disposition: form-data; name="files"; filename="a.txt"\r\n\r\n'


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("uploads")


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Server]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRADIO_TEMP_DIR", str(folder / "temporary"))
        with serve(little_settings(folder, shared=True)) as (address, _):
            yield Server(address)


@pytest.fixture
def public_host() -> Iterator[tuple[str, list[str]]]:
    """A host with a large file that the server could fetch: its address, and what was asked of it."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.send_header("Content-Length", str(50_000_000))
            self.end_headers()
            self.wfile.write(b"x" * 50_000_000)

        do_HEAD = do_GET

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as host:
        threading.Thread(target=host.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{host.server_address[1]}/x.txt", asked
        host.shutdown()


def upload(server: Server, key: str) -> str:
    headers = FORM | {"Cookie": f"{COOKIE}={key}"}
    answer = server.ask("/gradio_api/upload", headers, "POST", PART + b"my text\r\n--x--\r\n")[1]
    (path,) = json.loads(answer)
    return str(path)


def send(server: Server, value: object, key: str = STRANGERS_KEY) -> list[int]:
    """Return the status of a file value in every field of every event, and in each other route with a body."""
    dependencies = json.loads(server.ask("/config")[1])["dependencies"]
    bodies: list[tuple[str, object]] = [
        ("queue/join", {"data": [value] * len(event["inputs"]), "fn_index": event["id"], "session_hash": "s"})
        for event in dependencies
        if event["backend_fn"] and event["inputs"]
    ]
    bodies += [("call/tokenize", {"data": [value]}), ("call/v2/tokenize", {"text_a": value})]
    bodies += [("queue/join", {"data": [], "fn_index": 0, "session_hash": "s", "event_data": {"a": [[value]]}})]
    bodies += [("component_server", {"data": [value], "component_id": 1, "fn_name": "answer", "session_hash": "s"})]
    return [server.send(f"/gradio_api/{route}", body, Cookie=f"{COOKIE}={key}")[0] for route, body in bodies]


def test_no_address_is_fetched(server: Server, folder: Path, public_host: tuple[str, list[str]]) -> None:
    url, asked = public_host
    host = url.removeprefix("http://")
    before, stored = psutil.Process().memory_info().rss, bytes_below(folder / "temporary")
    for value in (
        {"path": url, "meta": FILE}, [{"path": url, "meta": FILE}], {"path": url}, {"path": url, "url": url},
        {"value": {"path": url, "meta": FILE}}, {"url": url}, {"meta": FILE}, {"path": [url], "meta": FILE},
        {"path": f"proxy={url}", "meta": FILE}, {"path": f"//{host}", "meta": FILE, "is_stream": True},
        {"path": upload(server, OWNERS_KEY), "url": url, "meta": FILE},
    ):  # fmt: skip
        assert all(status in (403, 404) for status in send(server, value))
    assert asked == []
    assert psutil.Process().memory_info().rss - before < 40_000_000
    assert bytes_below(folder / "temporary") - stored <= len(b"my text")


def test_no_path_passes_but_that_of_an_upload_of_the_same_visitor(server: Server, folder: Path) -> None:
    secret = folder / "secret.txt"
    secret.write_text("swordfish")
    own = upload(server, OWNERS_KEY)
    for path in (str(secret), "/etc/passwd", own, f"{own}/../a.txt"):
        assert all(status in (403, 404) for status in send(server, [{"path": path, "meta": FILE}]))
    status, sentence, _ = server.send(
        "/gradio_api/call/tokenize", {"data": [{"path": own}]}, Cookie=f"{COOKIE}={STRANGERS_KEY}"
    )
    assert (status, "that you uploaded" in sentence) == (403, True)
    body = {"data": [{"path": own, "meta": FILE}]}
    assert server.send("/gradio_api/call/tokenize", body, Cookie=f"{COOKIE}={OWNERS_KEY}")[0] == 200


def test_two_visitors_may_upload_the_same_file(server: Server) -> None:
    paths = [upload(server, key) for key in (OWNERS_KEY, STRANGERS_KEY)]
    for path, key in zip(paths, (OWNERS_KEY, STRANGERS_KEY), strict=True):
        body = {"data": [{"path": path, "meta": FILE}]}
        assert server.send("/gradio_api/call/tokenize", body, Cookie=f"{COOKIE}={key}")[0] == 200
