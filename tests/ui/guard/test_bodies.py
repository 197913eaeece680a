"""What a running server takes in: sizes, time, sessions, and requests that make no sense."""

import json
import logging
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from bertviz_lab.ui import app
from bertviz_lab.ui.guard import bodies, connections
from bertviz_lab.ui.server import assets
from bertviz_lab.ui.state.app_state import AppState
from tests.ui.guard.raw_requests import Server
from tests.ui.pages import free_port, little_settings, serve

HEAD = "POST /gradio_api/queue/join HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serve(little_settings(tmp_path_factory.mktemp("page"), shared=True)) as (address, _):
        yield Server(address)


def head(length: int) -> bytes:
    """Return the head of a request with a body of so many bytes."""
    return f"{HEAD}Content-Length: {length}\r\n\r\n".encode()


def test_a_large_request_is_refused_before_it_is_read(server: Server) -> None:
    announced = {"Content-Type": "application/json", "Content-Length": str(10**9)}
    for path in ("/gradio_api/queue/join", "/lab/ask", "/login"):
        kind = announced | ({"Content-Type": "application/x-www-form-urlencoded"} if path == "/login" else {})
        status, sentence, _ = server.ask(path, kind, "POST", b"")
        assert (status, "1 MB" in sentence) == (413, True)


def test_a_large_request_without_a_length_is_counted(server: Server) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as line:
        line.sendall(f"{HEAD}Transfer-Encoding: chunked\r\n\r\n".encode())
        for _ in range(40):
            line.sendall(b"c350\r\n" + b"a" * 50_000 + b"\r\n")
        line.sendall(b"0\r\n\r\n")
        assert line.recv(10_000).startswith(b"HTTP/1.1 413")


def test_a_slow_body_is_given_up(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "_PAUSE", 0.5)
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as line:
        line.sendall(head(5000) + b"{")
        assert line.recv(1000).startswith(b"HTTP/1.1 408")


def test_a_body_that_drips_is_given_up(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "_BODY_SECONDS", 1.0)
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as line:
        line.sendall(head(5000))
        started = time.monotonic()
        line.settimeout(0.1)
        answer = b""
        while not answer and time.monotonic() - started < 15:
            try:
                line.sendall(b" ")
                answer = line.recv(1000)
            except TimeoutError:
                continue
    assert answer.startswith(b"HTTP/1.1 408")


def test_who_is_answered_and_goes_on_sending_is_hung_up_on(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "_LINGERING", 1.0)
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as line:
        line.sendall(head(10**12))
        end = time.monotonic() + 15

        def send_on() -> None:
            while time.monotonic() < end:
                line.sendall(b" " * 10_000)

        with pytest.raises(ConnectionError):
            send_on()


def test_two_hundred_sessions_are_not_kept(server: Server) -> None:
    def ask(names: range) -> None:
        for number in names:
            sent = {"ticket": f"session {number}", "view": "server", "question": "progress"}
            assert server.send("/lab/ask", sent)[0] == 200

    ask(range(30))
    before = psutil.Process().memory_info().rss
    ask(range(30, 230))
    assert psutil.Process().memory_info().rss - before < 30_000_000


SESSION = "attacker"


ROUTES = [
    "/gradio_api/queue/join",
    "/gradio_api/call/fill_mask", "/gradio_api/call/v2/fill_mask", "/gradio_api/run/fill_mask",
    "/gradio_api/api/fill_mask", "/gradio_api/component_server", "/gradio_api/cancel", "/gradio_api/reset",
    "/gradio_api/call/nothing", "/gradio_api/call/v2/nothing", "/gradio_api/run/nothing", "/login", "/lab/ask",
]  # fmt: skip
BODIES: list[object] = [
    None, 7, "text", [], [[]], {}, {"data": None}, {"data": 7}, {"data": {}}, {"data": []},
    {"data": [1, 2, 3, 4, 5, 6]},
    {"data": [{"path": "/etc/passwd", "meta": {"_type": "gradio.FileData"}}], "session_hash": SESSION, "fn_index": 0},
    {"data": [[], {}, None], "session_hash": SESSION, "fn_index": 1, "trigger_id": 10**9},
    {"data": [], "session_hash": SESSION, "fn_index": -1},
    {"data": [], "session_hash": SESSION, "fn_index": 10**9},
    {"data": [], "session_hash": SESSION, "fn_index": "x"},
    {"data": [], "session_hash": {}, "fn_index": 0},
    {"data": [], "session_hash": "a" * 10_000, "fn_index": 0, "event_data": [[[]]]},
    {"data": [], "session_hash": SESSION, "component_id": 10**9, "fn_name": "answer"},
    {"data": [], "session_hash": SESSION, "component_id": "x", "fn_name": "answer"},
    {"data": [], "session_hash": SESSION, "component_id": 1, "fn_name": "__init__"},
    {"data": [], "session_hash": SESSION, "component_id": 1, "fn_name": {"a": 1}},
    {"event_id": 7, "session_hash": 7, "fn_index": []}, {"event_id": "x", "session_hash": "y", "fn_index": 0},
    {"text": ["x"], "model": {"a": []}, "top_k": "many"},
]  # fmt: skip


@pytest.mark.parametrize("path", ROUTES)
def test_values_of_wrong_types_are_no_failure_of_the_server(
    server: Server, path: str, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    raw = [json.dumps(body).encode() for body in BODIES]
    raw += [b"", b"{", b"\xff\xfe", b'{"data":', b"[" * 200_000, b'{"data": ' * 50_000, b'{"data": [1e999, NaN]}']
    with caplog.at_level(logging.INFO):
        for body in raw:
            status, text, _ = server.ask(path, {"Content-Type": "application/json"}, "POST", body)
            assert status < 500, (body[:200], status, text[:300])
    shown = "".join(capfd.readouterr()) + caplog.text
    assert "Traceback" not in shown


def test_calls_with_values_of_wrong_types_are_answered(server: Server, capfd: pytest.CaptureFixture[str]) -> None:
    """Each endpoint in turn, with as many values as it takes, none of which it accepts."""
    events = json.loads(server.ask("/config")[1])["dependencies"]
    endpoints = [event for event in events if event["api_visibility"] == "public"]
    for event in endpoints:
        sent = {"data": [{"a": [1]} for _ in event["inputs"]], "fn_index": event["id"], "session_hash": "wrong"}
        assert server.send("/gradio_api/queue/join", sent | {"event_data": {"x": [{}]}, "trigger_id": "1"})[0] == 200
    answers = server.ask("/gradio_api/queue/data?session_hash=wrong")[1]
    assert answers.count("process_completed") == len(endpoints) > 5
    assert "Traceback" not in "".join(capfd.readouterr())


@pytest.mark.parametrize(
    "path",
    [
        "/gradio_api/file=/etc/passwd", "/file=x", "/%00", "/..%2f",
        "/gradio_api/queue/data",
        "/gradio_api/queue/data?session_hash=x", "/gradio_api/call/fill_mask/x", "/config?x=%ff",
        "/gradio_api/heartbeat",
        "/gradio_api/info", "/gradio_api/upload_progress?upload_id=x", "/gradio_api/queue/status",
        "/?__theme=%00",
        "/nowhere/..", "/assets/../../x", "/static/%2e%2e/x", "/lab-model/%2e%2e.zip", "/lab-static/..",
        "/pwa_icon/x", "/manifest.json", "/gradio_api/openapi.json", "/svelte/..%2f..%2f",
    ],
)  # fmt: skip
def test_addresses_that_lead_nowhere_are_no_failure(
    server: Server, path: str, capfd: pytest.CaptureFixture[str]
) -> None:
    status, text, _ = server.ask(path.replace("\0", "%00"))
    assert status < 500
    assert "root:" not in text
    assert "Traceback" not in "".join(capfd.readouterr())


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/gradio_api/queue/join", "text/plain"), ("/lab/ask", "multipart/form-data; boundary=x"),
        ("/lab/ask", "text/plain"), ("/lab/upload", "application/json"), ("/login", "application/json"),
        ("/lab/ask", "application/x-www-form-urlencoded"), ("/gradio_api/cancel", ""),
    ],
)  # fmt: skip
def test_only_the_right_type_of_body_is_read(server: Server, path: str, kind: str) -> None:
    assert server.ask(path, {"Content-Type": kind}, "POST", b"{}")[0] == 415


@pytest.fixture
def crowded(tmp_path: Path) -> Iterator[Server]:
    """A page for two visitors, who may have 20 connections, as the command serves it."""
    settings = little_settings(tmp_path, shared=True)
    session = AppState(replace(settings, limits=replace(settings.limits, visitors=2)))
    page, address = app.serve(session, "127.0.0.1", free_port())
    yield Server(address)
    page.close()


def test_one_network_does_not_take_all_connections(crowded: Server, capfd: pytest.CaptureFixture[str]) -> None:
    with ExitStack() as stack:
        idle = [stack.enter_context(connect(crowded, "127.0.0.2")) for _ in range(30)]
        assert crowded.status("/healthz") == 200
        assert sum(map(is_closed, idle)) == 20
        idle += [stack.enter_context(connect(crowded, "127.0.0.1")) for _ in range(15)]
        assert is_closed(idle[-1]), "nor do proxies take more than there are for all"
    assert "Traceback" not in "".join(capfd.readouterr())


def test_answers_that_nobody_reads_are_given_up(crowded: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "_MOST_UNREAD", 3_000_000)
    monkeypatch.setattr(connections, "_PAUSE", 0.5)
    path = f"/{assets.folder()}/{assets.PLOTLY}"
    size = 4 * len(assets.files()[assets.PLOTLY].encode())  # more than the system takes in for a connection
    ask = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: "
    asked = (3 * f"{ask}keep-alive\r\n\r\n" + f"{ask}close\r\n\r\n").encode()
    with ExitStack() as stack:
        lines = [stack.enter_context(connect(crowded, "127.0.0.2")) for _ in range(9)]
        *idle, reader = lines
        for line in idle:
            line.sendall(asked)
        time.sleep(1)
        reader.sendall(asked)
        assert read_all(reader) > size
        assert max(map(read_all, idle)) < size


def connect(server: Server, address: str) -> socket.socket:
    """Return a connection from a network address that takes in little at a time."""
    line = socket.socket()
    line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    line.bind((address, 0))
    line.connect(("127.0.0.1", server.port))
    line.settimeout(0.2)
    return line


def read_all(line: socket.socket) -> int:
    """Return how many bytes come until the other side closes the connection."""
    line.settimeout(20)
    count = 0
    with suppress(ConnectionError):
        while part := line.recv(1 << 20):
            count += len(part)
    return count


def is_closed(line: socket.socket) -> bool:
    """Return whether the other side has closed a connection through which it has nothing to send."""
    try:
        return line.recv(1) == b""
    except TimeoutError:
        return False
    except ConnectionError:
        return True
