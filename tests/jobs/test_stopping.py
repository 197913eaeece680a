"""A stop is acted on at once, also while a text is being prepared."""

import time
from dataclasses import replace
from pathlib import Path

import pytest

from bertviz_lab.jobs import Runs
from tests.jobs.support import settings, wait_for
from tests.little import little_text

_SECONDS = 2.0 + 2.0  # what is promised, and what a busy machine may add


@pytest.fixture
def long_text(tmp_path: Path) -> Path:
    """Half a minute of work to read and to tokenize."""
    path = tmp_path / "long.txt"
    path.write_text(little_text() * (10_000_000 // len(little_text())), encoding="utf-8")
    return path


def test_a_run_that_is_stopped_while_its_text_is_prepared_is_stopped_in_two_seconds(runs: Runs, long_text: Path):
    run = replace(runs, cached=False).start(settings(), (long_text,))
    wait_for(lambda: runs.state(run).status == "preparing")
    began = time.monotonic()
    runs.stop(run)
    wait_for(lambda: runs.state(run).status == "stopped", 30)
    assert time.monotonic() - began < _SECONDS
    assert [row["event"] for row in runs.events(run)[0]][-1] == "RunFinished"


def test_a_stop_that_comes_before_the_process_is_ready_is_not_lost(runs: Runs, text: Path):
    run = runs.start(settings(), (text,))
    runs.stop(run)
    wait_for(lambda: runs.state(run).status == "stopped")
    assert runs.state(run).step < 100


def test_a_run_that_outlasts_its_time_saves_a_checkpoint_and_says_why(runs: Runs, text: Path):
    run = replace(runs, most_seconds=3.0).start(settings(), (text,))
    wait_for(lambda: runs.state(run).status == "stopped" and runs.state(run).message != "")
    assert "stopped after 3 s" in runs.state(run).message
