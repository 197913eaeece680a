"""A text, and a folder of runs of which one trains at a time."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bertviz_lab.jobs import Runs, WorkerProcesses
from tests.little import little_text
from tests.processes import end_runs


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "a <b>& text.txt"
    path.write_text(little_text(), encoding="utf-8")
    return path


@pytest.fixture
def runs(tmp_path: Path) -> Iterator[Runs]:
    runs = Runs(tmp_path / "runs", most_running=1, processes=WorkerProcesses(nice=0))
    yield runs
    end_runs(runs)
