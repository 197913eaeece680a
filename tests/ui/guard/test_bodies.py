"""What a running server takes in: sizes counted while they arrive, time, and sessions."""

import socket
import time
from collections.abc import Iterator

import psutil
import pytest

from bertviz_lab.ui.guard import bodies
from tests.ui.guard.raw_requests import Server
from tests.ui.pages import little_settings, serve

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
