"""Uploads: tokens of their visitor, their limits, and questions that take no path."""

import json
import os
import socket
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from bertviz_lab.config.limits import Limits
from bertviz_lab.jobs.retention import bytes_below
from bertviz_lab.ui.guard import bodies
from bertviz_lab.ui.server.visitors import COOKIE
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.views import VIEWS
from tests.little import little_text
from tests.processes import wait_for
from tests.ui.guard.raw_requests import Server
from tests.ui.pages import OWNER, OWNERS_KEY, STRANGER, little_settings, serve

LIMITS = replace(Limits.of(shared=True), upload_bytes=300_000, upload_space=8_000_000)
FORM = {"Content-Type": "multipart/form-data; boundary=x"}
HEAD = "POST /lab/upload HTTP/1.1\r\nHost: localhost\r\nContent-Type: multipart/form-data; boundary=x\r\n"


def part(name: str = "a.txt") -> bytes:
    return f'--x\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'.encode()


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("GRADIO_TEMP_DIR", str(tmp_path / "uploads"))
    return tmp_path / "uploads"


@pytest.fixture
def page(folder: Path, tmp_path: Path) -> Iterator[tuple[Server, AppState]]:
    with serve(replace(little_settings(tmp_path), limits=LIMITS)) as (address, session):
        yield Server(address), session


def upload(
    server: Server, content: bytes, name: str = "a.txt", network: str = "192.0.2.1"
) -> tuple[int, dict[str, object]]:
    headers = FORM | {"Cookie": f"{COOKIE}={OWNERS_KEY}", "X-Forwarded-For": network}
    status, text, _ = server.ask("/lab/upload", headers, "POST", part(name) + content + b"\r\n--x--\r\n")
    return status, json.loads(text)


def test_an_upload_is_a_token_of_its_visitor_and_goes_after_an_hour(
    page: tuple[Server, AppState], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, session = page
    status, answer = upload(server, b"a text", "../../etc/my: text.txt")
    assert (status, answer["bytes"]) == (200, 6)
    file = session.uploads.file(OWNER, answer["token"])
    assert (file.path.read_text(), file.path.name, file.name) == ("a text", "my- text.txt", "../../etc/my: text.txt")
    assert file.path.is_relative_to(folder)
    with pytest.raises(Exception, match="upload it again"):
        session.uploads.file(STRANGER, answer["token"])
    # The clock of uploads alone: a server of another test whose event loop read it would sleep for that hour.
    later = SimpleNamespace(monotonic=lambda: time.monotonic() + LIMITS.upload_seconds + 1)
    monkeypatch.setattr("bertviz_lab.ui.server.uploads.time", later)
    with session.uploads.space(OWNER):
        assert bytes_below(folder) == 0


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # Starlette closes no cut-off part
@pytest.mark.parametrize(
    "body",
    [
        b"", b"--x", b"--x\r\n\r\n", b"garbage", b"--x\r\n" + b"A: " + b"b" * 100_000 + b"\r\n\r\n--x--\r\n",
        b'--x\r\nContent-Disposition: form-data; name="file"\r\n\r\nno file\r\n--x--\r\n', part() + b"h" * 9,
        part() + b"1\r\n" + part() + b"2\r\n--x--\r\n",
    ],
)  # fmt: skip
def test_a_broken_form_is_refused_in_a_sentence_and_leaves_nothing(
    page: tuple[Server, AppState], folder: Path, body: bytes, capfd: pytest.CaptureFixture[str]
) -> None:
    status, text, _ = page[0].ask("/lab/upload", FORM, "POST", body)
    assert (status, "one file" in json.loads(text)["error"]) == (400, True)
    assert page[0].ask("/lab/upload", {"Content-Type": "application/json"}, "POST", b"{}")[0] == 415
    assert bytes_below(folder) == 0
    assert "Traceback" not in "".join(capfd.readouterr())


def test_too_large_an_upload_is_refused_and_leaves_nothing(page: tuple[Server, AppState], folder: Path) -> None:
    server, _ = page
    status, answer = upload(server, b"a" * 400_000)
    assert (status, "300 kB" in str(answer["error"])) == (413, True)
    assert upload(server, b"a" * 1_400_000)[0] == 413
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as line:
        line.sendall(f"{HEAD}Transfer-Encoding: chunked\r\n\r\n".encode())
        for chunk in [part(), *[b"a" * 100_000] * 40]:
            line.sendall(f"{len(chunk):x}\r\n".encode() + chunk + b"\r\n")
        line.sendall(b"0\r\n\r\n")
        assert line.recv(10_000).startswith(b"HTTP/1.1 413")
    assert bytes_below(folder) == 0


def test_an_address_takes_a_quarter_of_the_space_and_all_together_take_no_more(
    page: tuple[Server, AppState], folder: Path
) -> None:
    server, _ = page
    content = os.urandom(240_000)
    own = [upload(server, content)[0] for _ in range(9)]
    assert own == [200] * 8 + [507]
    others = [upload(server, content, network=f"192.0.2.{n}")[0] for n in range(2, 30)]
    assert others == [200] * 25 + [507] * 3
    assert bytes_below(folder) <= LIMITS.upload_space


def test_a_connection_that_only_announces_a_size_takes_no_space_and_is_given_up(
    page: tuple[Server, AppState], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, _ = page
    monkeypatch.setattr(bodies, "_PAUSE", 1.0)
    idle = []
    for _ in range(30):
        idle.append(socket.create_connection(("127.0.0.1", server.port), timeout=20))
        idle[-1].sendall(f"{HEAD}Content-Length: 299000\r\n\r\n".encode() + part())
    assert upload(server, b"a" * 200_000, network="127.0.0.1")[0] == 200
    for line in idle:
        assert line.recv(1000).startswith(b"HTTP/1.1 408")
        line.close()


def test_an_upload_that_breaks_off_leaves_nothing_and_gives_its_space_back(
    page: tuple[Server, AppState], folder: Path
) -> None:
    server, session = page
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as line:
        line.sendall(f"{HEAD}Content-Length: 290000\r\n\r\n".encode() + part() + b"a" * 250_000)
        time.sleep(0.5)
    wait_for(lambda: bytes_below(folder) == 0, 10)
    wait_for(lambda: session.uploads._arriving.total() == 0, 10)


def test_questions_of_the_views_answer_no_path_of_the_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # As a text to look into a path is welcome, and a lens is then fitted, on a sample that takes seconds to read.
    (tmp_path / "sample.txt").write_text(little_text(100), encoding="utf-8")
    monkeypatch.setattr("bertviz_lab.ui.views.layers.view._SAMPLE", str(tmp_path / "sample.txt"))
    secret = tmp_path / "secret.csv"
    lines = [f"the {word} is number {n},{word}" for n in range(40) for word in ("swordfish", "other")]
    secret.write_text("text,label\n" + "\n".join(lines) + "\n", encoding="utf-8")
    values = (str(secret), [str(secret)], {"path": str(secret), "meta": {"_type": "gradio.FileData"}})
    with serve(little_settings(tmp_path, shared=True)) as (address, _):
        server = Server(address)
        for view in VIEWS:
            for name, question in view.questions.items():
                for changed, value in ((changed, value) for changed in question.arguments for value in values):
                    arguments = dict.fromkeys(question.arguments, "") | {changed: value}
                    sent = {"view": view.id, "question": name, "arguments": arguments}
                    status, answer, _ = server.send("/lab/ask", sent)
                    assert status == 200
                    assert "swordfish" not in answer
