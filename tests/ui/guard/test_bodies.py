"""What a running server takes in: sizes counted while they arrive, room for uploads, time, and sessions."""

import os
import socket
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from bertviz_lab.config.limits import Limits
from bertviz_lab.jobs.retention import bytes_below
from bertviz_lab.ui.guard import bodies
from tests.ui.guard.raw_requests import Server
from tests.ui.pages import little_settings, serve

LIMITS = replace(Limits.of(shared=True), upload_bytes=300_000, upload_space=8_000_000, visitors=20)
JSON = "Content-Type: application/json\r\n"
FORM = "Content-Type: multipart/form-data; boundary=x\r\n"
PART = b'--x\r\nContent-Disposition: form-data; name="files"; filename="a.txt"\r\n\r\n'


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Where uploads go."""
    monkeypatch.setenv("GRADIO_TEMP_DIR", str(tmp_path / "uploads"))
    return tmp_path / "uploads"


@pytest.fixture
def server(folder: Path, tmp_path: Path) -> Iterator[Server]:
    with serve(replace(little_settings(tmp_path), limits=LIMITS)) as (address, _):
        yield Server(address)


def head(path: str, kind: str, length: int) -> bytes:
    return f"POST {path} HTTP/1.1\r\nHost: localhost\r\n{kind}Content-Length: {length}\r\n\r\n".encode()


def stream(server: Server, path: str, kind: str, chunks: list[bytes]) -> bytes:
    """Send a chunked body to its end; the answer."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as line:
        line.sendall(f"POST {path} HTTP/1.1\r\nHost: localhost\r\n{kind}Transfer-Encoding: chunked\r\n\r\n".encode())
        for chunk in chunks:
            line.sendall(f"{len(chunk):x}\r\n".encode() + chunk + b"\r\n")
        line.sendall(b"0\r\n\r\n")
        return line.recv(10_000)


def upload(server: Server, size: int) -> tuple[int, str]:
    body = PART + os.urandom(8).hex().encode() * (size // 16) + b"\r\n--x--\r\n"
    kind = {"Content-Type": "multipart/form-data; boundary=x"}
    return server.ask("/gradio_api/upload", kind, "POST", body)[:2]


def test_a_large_request_is_refused_before_it_is_read(server: Server) -> None:
    announced = {"Content-Type": "application/json", "Content-Length": str(10**9)}
    for path in ("/gradio_api/queue/join", "/lab/ask", "/login"):
        kind = announced | ({"Content-Type": "application/x-www-form-urlencoded"} if path == "/login" else {})
        status, sentence, _ = server.ask(path, kind, "POST", b"")
        assert (status, "1 MB" in sentence) == (413, True)


def test_a_large_request_without_a_length_is_counted(server: Server) -> None:
    answer = stream(server, "/gradio_api/queue/join", JSON, [b'{"data":["' + b"a" * 50_000] * 40)
    assert answer.startswith(b"HTTP/1.1 413")


def test_a_large_upload_is_refused_and_leaves_nothing_on_disk(server: Server, folder: Path) -> None:
    status, sentence = upload(server, 1_400_000)
    assert (status, "300 kB" in sentence) == (413, True)
    answer = stream(server, "/gradio_api/upload", FORM, [PART, *[b"a" * 100_000] * 40])
    assert answer.startswith(b"HTTP/1.1 413")
    assert upload(server, 400_000)[0] == 413  # one file, within the request's overhead
    assert bytes_below(folder) == 0


def test_an_upload_that_breaks_off_leaves_nothing_on_disk(server: Server, folder: Path) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as line:
        line.sendall(head("/gradio_api/upload", FORM, 200_000) + PART + b"a" * 100_000)
        time.sleep(0.5)
    end = time.monotonic() + 10
    while bytes_below(folder) or list(folder.rglob("tmp*")):
        assert time.monotonic() < end
        time.sleep(0.1)


def test_an_address_takes_its_share_of_the_space_by_this_route_too(server: Server, folder: Path) -> None:
    statuses = [upload(server, 250_000)[0] for _ in range(8)]
    assert statuses == [200] * 7 + [507]
    assert bytes_below(folder) <= LIMITS.upload_space / 4


def test_slow_bodies_are_given_up(server: Server, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.setattr(bodies, "_PAUSE", 0.5)
    for path, kind, start in (("/gradio_api/queue/join", JSON, b"{"), ("/gradio_api/upload", FORM, PART)):
        with socket.create_connection(("127.0.0.1", server.port), timeout=20) as line:
            line.sendall(head(path, kind, 5000) + start)
            assert line.recv(1000).startswith(b"HTTP/1.1 408")
    assert bytes_below(folder) == 0


def test_a_body_that_drips_is_given_up(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "_BODY_SECONDS", 1.0)
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as line:
        line.sendall(head("/gradio_api/queue/join", JSON, 5000))
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
        line.sendall(head("/gradio_api/queue/join", JSON, 10**12))
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
