"""A run that needs more memory than it is given fails with a sentence, and takes nothing else down."""

import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from bertviz_lab.errors import InputError
from bertviz_lab.jobs import Runs
from bertviz_lab.jobs.worker import _explained
from bertviz_lab.training.runs.events import Event
from tests.jobs.support import settings, wait_for


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere memory is watched, not limited")
def test_a_run_beyond_its_memory_says_so(runs: Runs, text: Path) -> None:
    limited = replace(runs, memory_bytes=400_000_000)
    config = settings(preset="medium")
    run_id = limited.start(config, (text,))
    wait_for(lambda: limited.state(run_id).status == "failed")
    message = limited.state(run_id).message
    assert re.match(r"This run needs about 0\.\d GB of memory, and 0\.\d GB are free", message), message


def test_a_library_that_gets_no_memory_is_a_sentence_too() -> None:
    def events() -> Iterator[Event]:
        raise RuntimeError("[enforce fail at alloc_cpu.cpp:118] DefaultCPUAllocator: can't allocate memory")
        yield

    with pytest.raises(InputError, match=r"^This run needs more than 8 GB of memory, which is what this page gives"):
        list(_explained(events(), 8_000_000_000))
    with pytest.raises(RuntimeError, match="a mistake"):
        list(_explained(_mistaken(), 8_000_000_000))


def _mistaken() -> Iterator[Event]:
    raise RuntimeError("a mistake")
    yield
