"""Who may ask the server, under which name and from where, and that no file value reaches Gradio."""

import asyncio
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from gradio.routes import App
from gradio_client import Client

from bertviz_lab.config.limits import Limits
from bertviz_lab.jobs.retention import bytes_below
from bertviz_lab.ui.app import build
from bertviz_lab.ui.guard.addresses import host_name
from bertviz_lab.ui.guard.bodies import Refused
from bertviz_lab.ui.guard.middleware import Guard
from bertviz_lab.ui.guard.routes import Routes
from bertviz_lab.ui.server.visitors import COOKIE
from bertviz_lab.ui.settings import Settings
from tests.ui.guard.raw_requests import Server
from tests.ui.pages import OWNERS_KEY, little_settings, serve


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serve(little_settings(tmp_path_factory.mktemp("local"))) as (address, _):
        yield Server(address)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("shared")
    settings = Settings(
        runs_dir=little_settings(folder).runs_dir,
        checkpoints=folder / "checkpoints",
        limits=Limits.of(shared=True),
        allowed_hosts=("lab.example.org", "*.hf.space"),
    )
    with serve(settings) as (address, _):
        yield Server(address)


def test_websockets_are_closed() -> None:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    unused: Any = None
    asyncio.run(Guard(unused, Settings(), unused, unused)({"type": "websocket"}, unused, send))
    assert sent == [{"type": "websocket.close", "code": 1008}]


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "localhost:9000", "LOCALHOST", "[::1]:80"])
def test_a_local_page_answers_to_the_names_of_its_machine(local: Server, host: str) -> None:
    assert local.status(Host=host) == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:7860", "192.168.1.7", "", "[::1", "a:b",
     "@localhost"],
)  # fmt: skip
def test_a_name_that_was_rebound_to_this_machine_is_refused(local: Server, host: str) -> None:
    status, sentence, _ = local.ask("/config", {"Host": host})
    assert (status, "gradio" in sentence) == (403, False)


def test_a_shared_page_answers_to_addresses_and_to_the_names_that_its_owner_gave_alone(shared: Server) -> None:
    for host in ("192.168.1.7:7860", "[fe80::1]", "lab.example.org", "a.hf.space", socket.gethostname()):
        assert shared.status(Host=host) == 200, host
    for host in ("evil.example", "lab.example.org.evil.example", "hf.space.evil.example"):
        assert shared.status(Host=host) == 403, host


def test_two_host_headers_are_refused(local: Server) -> None:
    with socket.create_connection(("127.0.0.1", local.port), timeout=10) as line:
        line.sendall(b"GET /config HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\nConnection: close\r\n\r\n")
        assert line.recv(100).split()[1] in (b"400", b"403")


def test_host_name_reads_names_and_addresses_with_and_without_a_port() -> None:
    assert [host_name(text) for text in ("A.b:80", "[::1]:80", "[::1]", "x.", "[::1]x", "a:b")] == [
        "a.b", "::1", "::1", "x", "", "",
    ]  # fmt: skip


# ---- origins

STREAM = "/gradio_api/reset"


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://localhost:1"},
        {"Origin": "file://"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
    ],
)
def test_what_another_site_makes_a_browser_send_is_refused(local: Server, headers: dict[str, str]) -> None:
    status, sentence, answer = local.send(STREAM, {"event_id": "x"}, **headers)
    assert status == 403
    assert "another site" in sentence
    assert not [name for name in answer if name.startswith("access-control-")]


def test_the_page_itself_and_programs_may_ask(local: Server) -> None:
    own = {"Origin": f"http://127.0.0.1:{local.port}", "Sec_Fetch_Site": "same-origin"}
    assert local.send(STREAM, {"event_id": "x"}, **own)[0] == 200
    assert local.send(STREAM, {"event_id": "x"})[0] == 200
    assert Client(local.address, verbose=False).predict("The [MASK] sat.", api_name="/fill_mask")["masks"]


def test_no_other_origin_may_read_an_answer(local: Server, shared: Server) -> None:
    for server, origin in ((local, "http://localhost:1"), (shared, "http://evil.example")):
        for method in ("GET", "OPTIONS"):
            headers = {"Origin": origin, "Access-Control-Request-Method": "POST"}
            _, _, answer = server.ask("/config", headers, method)
            assert not [name for name in answer if name.startswith("access-control-")]


@pytest.mark.parametrize("header", ["X-Forwarded-For", "X-Forwarded-Host", "Forwarded", "Via", "X-Real-IP"])
def test_a_local_page_behind_a_proxy_does_not_believe_itself_private(local: Server, header: str) -> None:
    status, sentence, _ = local.ask("/", {header: "203.0.113.7"})
    assert status == 403
    assert "--shared" in sentence


def test_a_trusted_proxy_names_the_public_host(shared: Server) -> None:
    forwarded = {"X-Forwarded-Host": "lab.example.org", "X-Forwarded-Proto": "https"}
    assert '"root":"https://lab.example.org"' in shared.ask("/", forwarded)[1]
    assert shared.status(X_Forwarded_Host="evil.example") == 403
    origin = {"Origin": "https://lab.example.org"}
    assert shared.send(STREAM, {"event_id": "x"}, X_Forwarded_Host="lab.example.org", **origin)[0] == 200


def test_forwarding_headers_of_strangers_are_not_believed(tmp_path: Path) -> None:
    little = little_settings(tmp_path)
    settings = Settings(
        runs_dir=little.runs_dir, checkpoints=little.checkpoints, limits=Limits.of(shared=True),
        trusted_proxies=("10.0.0.0/8",),
    )  # fmt: skip
    with serve(settings) as (address, _):
        server = Server(address)
        page = server.ask("/", {"X-Forwarded-Host": "evil.example", "X-Forwarded-Proto": "https"})[1]
    assert "evil.example" not in page
    assert f'"root":"http://127.0.0.1:{server.port}"' in page


@pytest.mark.parametrize("path", ["/", "/config", "/nowhere", "/theme.css", "/lab-static/x"])
def test_every_answer_carries_the_security_headers(local: Server, path: str) -> None:
    _, _, headers = local.ask(path)
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"
    assert "default-src 'none'" in headers["content-security-policy"]
    assert "frame-ancestors 'self'" in headers["content-security-policy"]


def test_only_the_addresses_of_the_table_reach_gradio(settings: Settings) -> None:
    """Every route that Gradio has, with every method that it takes."""
    page = build(settings)
    routes, answered = Routes([], page), set()
    for group in App.create_app(page).routes:
        for route in getattr(getattr(group, "original_router", None), "routes", [group]):
            path = route.path.replace("{api_name}", "tokenize").replace("{", "").replace("}", "").rstrip("/") or "/"
            for method in route.methods or ():
                with suppress(Refused):
                    routes.check({"type": "http", "path": path, "method": method})
                    answered.add((method, path.replace("/gradio_api/", "api ")))
    assert answered - {("HEAD", path) for _, path in answered} == {
        *(("GET", path) for path in (
            "/", "/config", "/theme.css", "/favicon.ico", "/robots.txt", "/manifest.json", "/assets/path:path",
            "/static/path:path", "/svelte/path:path", "api info", "api startup-events", "api app_id", "api theme.css",
            "api heartbeat/session_hash", "api queue/data", "api call/tokenize/event_id",
            "api call/v2/tokenize/event_id",
        )),
        *(("POST", path) for path in (
            "/login", "api queue/join", "api call/tokenize", "api call/v2/tokenize", "api cancel", "api reset",
        )),
    }  # fmt: skip


@pytest.mark.parametrize("path", ["/gradio_api/run/tokenize", "/gradio_api/api/tokenize/", "/run/predict"])
def test_no_call_passes_by_the_queue(local: Server, path: str) -> None:
    assert local.send(path, {"data": ["a cat", "", ""]})[0] == 404
    assert local.send("/gradio_api/call/tokenize", {"data": ["a cat", "", ""]})[0] == 200


@pytest.mark.parametrize("number", [-1, 10**9, "0", None, True, 0.0])
def test_only_events_of_the_page_join_the_queue(local: Server, number: object) -> None:
    assert local.send("/gradio_api/queue/join", {"data": [], "fn_index": number, "session_hash": "s"})[0] == 404
    assert local.send("/gradio_api/call/nothing", {"data": []})[0] == 404


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
