"""The door of a running server: what is let in, and under which names."""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from gradio.routes import App
from gradio_client import Client

from bertviz_lab.config.limits import Limits
from bertviz_lab.ui.app import build
from bertviz_lab.ui.guard.addresses import host_name
from bertviz_lab.ui.guard.bodies import Refused
from bertviz_lab.ui.guard.middleware import Guard
from bertviz_lab.ui.guard.routes import Routes
from bertviz_lab.ui.settings import Settings
from tests.ui.guard.raw_requests import Server
from tests.ui.pages import little_settings, serve


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


# ---- names


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


@pytest.mark.parametrize(
    "host", ["192.168.1.7:7860", "[fe80::1]", "lab.example.org", "a.hf.space", socket.gethostname()]
)
def test_a_shared_page_answers_to_addresses_and_to_the_names_that_its_owner_gave(shared: Server, host: str) -> None:
    assert shared.status(Host=host) == 200


@pytest.mark.parametrize("host", ["evil.example", "lab.example.org.evil.example", "hf.space.evil.example"])
def test_a_shared_page_refuses_other_names(shared: Server, host: str) -> None:
    assert shared.status(Host=host) == 403


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


# ---- proxies


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


# ---- answers


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
