"""What the owner of a running server is told: health, metrics and a line for each event."""

import io
import json
import logging
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from gradio_client import Client
from prometheus_client.parser import text_string_to_metric_families

from bertviz_lab.ui.operations.event_log import LogFormat, log_event, start_log
from tests.ui.guard.raw_requests import Server
from tests.ui.pages import little_settings, serve


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
