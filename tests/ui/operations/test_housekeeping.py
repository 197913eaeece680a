"""A server that runs for long: what is swept, what is left of visitors, health, metrics and its log."""

import io
import json
import logging
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from gradio_client import Client
from prometheus_client.parser import text_string_to_metric_families

from bertviz_lab.errors import InputError
from bertviz_lab.jobs.retention import bytes_below
from bertviz_lab.ui.operations.event_log import LogFormat, log_event, start_log
from bertviz_lab.ui.operations.housekeeping import own_upload_folder, sweep
from bertviz_lab.ui.server.downloads import download_folder
from bertviz_lab.ui.settings import Settings
from bertviz_lab.ui.state.app_state import AppState
from tests.ui.guard.raw_requests import Server
from tests.ui.pages import little_settings, serve

SENTINEL = "sentinelword"


@contextmanager
def started(folder: Path, number: int) -> Iterator[tuple[Server, subprocess.Popen[str]]]:
    """`bertviz-lab app` as a process of its own, whose temporary files and runs lie in a folder."""
    temporary = folder / "tmp"
    temporary.mkdir(exist_ok=True)
    environment = {name: value for name, value in os.environ.items() if name != "GRADIO_TEMP_DIR"}
    command = [sys.executable, "-m", "bertviz_lab", "app", "--port", str(number), "--runs-dir", str(folder / "runs")]
    with (folder / "log").open("a") as log:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=log, text=True, env=environment | {"TMPDIR": str(temporary)}
        )
    try:
        assert process.stdout is not None
        address = process.stdout.readline().split()[-1]
        yield Server(address), process
    finally:
        process.kill()
        process.communicate()


def upload(server: Server) -> None:
    body = f'--x\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n{SENTINEL}\r\n--x--\r\n'
    kind = {"Content-Type": "multipart/form-data; boundary=x"}
    assert server.ask("/lab/upload", kind, "POST", body.encode())[0] == 200


def holding_sentinel(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and SENTINEL.encode() in path.read_bytes()]


@pytest.mark.slow
def test_nothing_that_a_visitor_typed_or_uploaded_is_left_not_even_by_a_server_that_was_killed(
    tmp_path: Path, free_tcp_port: int
) -> None:
    with started(tmp_path, free_tcp_port) as (server, process):
        upload(server)
        process.kill()
        process.wait()
    assert holding_sentinel(tmp_path / "tmp")
    with started(tmp_path, free_tcp_port) as (server, process):
        assert not holding_sentinel(tmp_path / "tmp")  # the next one has cleaned up
        upload(server)
        client = Client(server.address, verbose=False)
        client.predict(f"The {SENTINEL} [MASK].", api_name="/fill_mask")
        with pytest.raises(Exception, match="MASK"):
            client.predict(f"No blank in {SENTINEL}.", api_name="/fill_mask")
        assert holding_sentinel(tmp_path / "tmp")
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
        assert SENTINEL not in process.stdout.read()  # type: ignore[union-attr]
    assert not holding_sentinel(tmp_path)
    assert not list((tmp_path / "tmp").glob("bertviz-lab-*"))
    assert "Traceback" not in (tmp_path / "log").read_text(encoding="utf-8")


def test_old_uploads_and_downloads_are_swept_and_young_ones_stay(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRADIO_TEMP_DIR", str(tmp_path / "uploads"))
    state = AppState(settings)
    for name, age in (("old", 7200), ("young", 50)):
        file = download_folder() / f"{name}.txt"
        file.write_text(name, encoding="utf-8")
        for path in (file, file.parent):
            os.utime(path, (time.time() - age,) * 2)
    sweep(state)
    assert [path.name for path in (tmp_path / "uploads").rglob("*.txt")] == ["young.txt"]
    sweep(state, time.time() + settings.limits.upload_seconds)
    assert bytes_below(tmp_path / "uploads") == 0


def test_uploads_lie_in_a_folder_of_their_server_within_the_named_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("GRADIO_TEMP_DIR", str(tmp_path / "named"))
    folder = own_upload_folder()
    assert folder.is_dir()
    assert folder.parent == tmp_path / "named"
    assert os.environ["GRADIO_TEMP_DIR"] == str(folder)


def test_an_upload_folder_that_cannot_be_made_is_refused_in_a_sentence(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("GRADIO_TEMP_DIR", str(tmp_path / "file"))
    with pytest.raises(InputError, match="folder for uploads"):
        own_upload_folder()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    settings = replace(little_settings(tmp_path_factory.mktemp("page"), shared=True), metrics=True)
    with serve(settings) as (address, _):
        yield Server(address)


def read(server: Server) -> dict[str, float]:
    """The samples of `/metrics`, as Prometheus' own parser reads them."""
    status, text, headers = server.ask("/metrics")
    assert status == 200
    assert headers["content-type"].startswith("text/plain")
    samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    return {
        " ".join([s.name, *(value for _, value in sorted(s.labels.items(), reverse=True))]): s.value for s in samples
    }


def test_health_is_told_to_everybody(server: Server) -> None:
    status, text, _ = server.ask("/healthz", {"X-Forwarded-For": "203.0.113.7"})
    assert status == 200
    assert json.loads(text)["status"] == "ok"
    assert json.loads(text)["uptime_seconds"] >= 0


def test_a_server_without_room_for_runs_is_not_healthy(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bertviz_lab.ui.operations.monitoring._LEAST_DISK", 10**18)
    assert server.ask("/healthz")[0] == 503


def test_questions_and_refusals_are_counted_with_their_time(server: Server) -> None:
    before = read(server)
    client = Client(server.address, verbose=False)
    client.predict("The [MASK] sat.", api_name="/fill_mask")
    with pytest.raises(Exception, match="MASK"):
        client.predict("Nothing.", api_name="/fill_mask")
    server.status("/config", Host="evil.example")
    after = read(server)
    for name in ("question_seconds_count /fill_mask answered", "question_seconds_count /fill_mask refused"):
        assert after[f"bertviz_lab_{name}"] == before.get(f"bertviz_lab_{name}", 0) + 1
    assert after["bertviz_lab_question_seconds_sum /fill_mask answered"] > 0
    assert after["bertviz_lab_requests_refused_total 403"] > before.get("bertviz_lab_requests_refused_total 403", 0)
    assert after["bertviz_lab_questions_at_work"] == 0


def test_memory_disk_and_models_are_measured(server: Server) -> None:
    samples = read(server)
    assert samples["process_resident_memory_bytes"] > 100_000_000
    assert samples["bertviz_lab_disk_free_bytes"] > 0
    assert samples["bertviz_lab_open_models"] >= 1
    assert samples["bertviz_lab_open_model_bytes"] > 0


def test_metrics_are_for_this_machine_only(server: Server) -> None:
    assert server.ask("/metrics", {"X-Forwarded-For": "203.0.113.7"})[0] == 403


def test_metrics_are_off_unless_the_owner_asks_for_them(tmp_path: Path) -> None:
    with serve(little_settings(tmp_path)) as (address, _):
        assert Server(address).status("/metrics") == 404
        assert Server(address).status("/healthz") == 200


def test_a_token_opens_the_metrics_to_other_machines(tmp_path: Path) -> None:
    settings = replace(little_settings(tmp_path, shared=True), metrics=True, metrics_token="key")
    with serve(settings) as (address, _):
        server = Server(address)
        elsewhere = {"X-Forwarded-For": "203.0.113.7"}
        assert server.ask("/metrics", elsewhere | {"Authorization": "Bearer key"})[0] == 200
        for wrong in ("Bearer kez", "key ", "", "Bearer \u00e9"):
            assert server.ask("/metrics", elsewhere | {"Authorization": wrong})[0] == 403
        assert server.ask("/metrics")[0] == 403  # not even from here without it


@pytest.mark.parametrize(
    ("kind", "line"),
    [
        ("json", r'\{"time": ".*", "event": "question", "seconds": 0.5\}\n'),
        ("plain", r"\S+ info question seconds=0.5\n"),
        ("off", ""),
    ],
)
def test_an_event_is_a_line(kind: LogFormat, line: str) -> None:
    stream = io.StringIO()
    logger = logging.getLogger("bertviz_lab")
    handler = start_log(kind, stream)
    try:
        log_event("question", seconds=0.5)
        assert re.fullmatch(line, stream.getvalue())
        logging.getLogger("bertviz_lab.ui").error("failed: %s", "KeyError")
        assert "failed: KeyError" in stream.getvalue()
    finally:
        logger.removeHandler(handler)
        logger.propagate = True
        logging.getLogger("bertviz_lab.events").setLevel(logging.NOTSET)
