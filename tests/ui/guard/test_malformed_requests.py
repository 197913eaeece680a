"""Bodies that no page sends, to every route of a running server: refused in one sentence, without a traceback."""

import itertools
import json
import logging
from collections.abc import Iterator

import pytest

from tests.ui.guard.raw_requests import Server
from tests.ui.pages import little_settings, serve

SESSION = "attacker"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serve(little_settings(tmp_path_factory.mktemp("page"), shared=True)) as (address, _):
        yield Server(address)


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


def test_events_with_values_of_wrong_types_leave_no_traceback(
    server: Server, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    """Each event of the page in turn, with as many values as it takes, none of which its components accept."""
    dependencies = json.loads(server.ask("/config")[1])["dependencies"]
    wrong = itertools.cycle([{"a": [1]}, [[None]], 10**30, "\0", {"path": "/etc/passwd", "is_stream": 7}])
    session = "wrong-values"
    count = 0
    for event in [event for event in dependencies if event["backend_fn"]]:
        sent = {"data": [next(wrong) for _ in event["inputs"]], "fn_index": event["id"], "session_hash": session}
        count += server.send("/gradio_api/queue/join", sent | {"event_data": {"x": [{}]}, "trigger_id": "1"})[0] == 200
    assert count > 0
    finished = server.ask(f"/gradio_api/queue/data?session_hash={session}")[1].count("process_completed")
    assert finished == count
    assert "Traceback" not in "".join(capfd.readouterr()) + caplog.text


@pytest.mark.parametrize(
    "path",
    [
        "/gradio_api/file=/etc/passwd",
        "/gradio_api/file=\0", "/gradio_api/file=" + "a" * 5000, "/file=x", "/%00", "/..%2f",
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
        ("/lab/ask", "text/plain"), ("/gradio_api/upload", "application/json"), ("/login", "application/json"),
        ("/lab/ask", "application/x-www-form-urlencoded"), ("/gradio_api/cancel", ""),
    ],
)  # fmt: skip
def test_only_the_right_type_of_body_is_read(server: Server, path: str, kind: str) -> None:
    assert server.ask(path, {"Content-Type": kind}, "POST", b"{}")[0] == 415


@pytest.mark.parametrize(
    "body",
    [
        b"", b"--x", b"--x\r\n\r\n", b"--x\r\nContent-Disposition: form-data\r\n\r\na\r\n--x--\r\n", b"garbage",
        b'--x\r\nContent-Disposition: form-data; name="files"\r\n\r\nno file\r\n--x--\r\n',
        b'--x\r\nContent-Disposition: form-data; name="files"; filename="../../etc/x"\r\n\r\n' + b"h" * 9,
        b"--x\r\n" + b"A: " + b"b" * 100_000 + b"\r\n\r\n--x--\r\n",
    ],
)  # fmt: skip
def test_broken_uploads_are_no_failure(server: Server, body: bytes, capfd: pytest.CaptureFixture[str]) -> None:
    for query in ("", "?upload_id=y"):
        kind = {"Content-Type": "multipart/form-data; boundary=x"}
        assert server.ask(f"/gradio_api/upload{query}", kind, "POST", body)[0] < 500
    assert server.ask("/gradio_api/upload", {"Content-Type": "multipart/form-data"}, "POST", body)[0] == 400
    assert "Traceback" not in "".join(capfd.readouterr())
