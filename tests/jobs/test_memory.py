"""A run that needs more memory than it is given fails with a sentence, and takes nothing else down."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from bertviz_lab.jobs import Runs
from tests.jobs.support import settings, wait_for


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere memory is watched, not limited")
def test_a_run_beyond_its_memory_says_so(runs: Runs, text: Path) -> None:
    limited = replace(runs, memory_bytes=400_000_000)
    config = settings(preset="medium")
    run_id = limited.start(config, (text,))
    wait_for(lambda: limited.state(run_id).status == "failed")
    assert limited.state(run_id).message == (
        "This run needs more than 400 MB of memory, which is what this page gives to one: choose a smaller model, "
        "a smaller batch size or a part of the data."
    )


def test_a_run_within_its_memory_trains(runs: Runs, text: Path) -> None:
    limited = replace(runs, memory_bytes=4_000_000_000)
    run_id = limited.start(settings(steps=3), (text,))
    wait_for(lambda: limited.state(run_id).status == "finished")
