"""File values in what is sent to Gradio on a running server: none passes."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from bertviz_lab.jobs.retention import bytes_below
from bertviz_lab.ui.server.visitors import COOKIE
from tests.ui.guard.raw_requests import Server
from tests.ui.pages import OWNERS_KEY, little_settings, serve

FILE = {"_type": "gradio.FileData"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("uploads")


@pytest.fixture(autouse=True)
def upload_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADIO_TEMP_DIR", str(folder / "temporary"))


@pytest.fixture
def server(folder: Path) -> Iterator[Server]:
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


def send(server: Server, value: object) -> list[int]:
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
    return [server.send(f"/gradio_api/{route}", body, Cookie=f"{COOKIE}={OWNERS_KEY}")[0] for route, body in bodies]


def test_no_file_value_reaches_gradio(server: Server, folder: Path, public_host: tuple[str, list[str]]) -> None:
    url, asked = public_host
    host, stored = url.removeprefix("http://"), bytes_below(folder / "temporary")
    secret = folder / "secret.txt"
    secret.write_text("swordfish")
    form = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\nmy text\r\n--x--\r\n'
    headers = {"Content-Type": "multipart/form-data; boundary=x", "Cookie": f"{COOKIE}={OWNERS_KEY}"}
    token = json.loads(server.ask("/lab/upload", headers, "POST", form)[1])["token"]
    upload = folder / "temporary" / token / "a.txt"
    assert upload.read_text() == "my text"
    for value in (
        {"path": url, "meta": FILE}, [{"path": url, "meta": FILE}], {"path": url}, {"path": url, "url": url},
        {"value": {"path": url, "meta": FILE}}, {"url": url}, {"meta": FILE}, {"path": [url], "meta": FILE},
        {"path": f"proxy={url}", "meta": FILE}, {"path": f"//{host}", "meta": FILE, "is_stream": True},
        *({"path": str(path), "meta": FILE} for path in (secret, "/etc/passwd", upload, f"{upload}/../a.txt", token)),
    ):  # fmt: skip
        assert set(send(server, value)) <= {403, 404}
    assert asked == []
    assert bytes_below(folder / "temporary") - stored == len(b"my text")
    assert server.ask(f"/gradio_api/file={upload}", {"Cookie": f"{COOKIE}={OWNERS_KEY}"})[0] == 404
