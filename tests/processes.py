"""Small runs in processes of their own, free ports, and how to wait for what another process or thread does."""

import os
import signal
import socket
import time
from collections.abc import Callable

from bertviz_lab import PretrainConfig
from bertviz_lab.jobs import Runs
from bertviz_lab.jobs.processes import is_worker


def settings(**changes: object) -> PretrainConfig:
    options = {"corpus": ("x",), "preset": "tiny", "steps": 100_000, "seq_len": 16, "batch_size": 4, "threads": 1}
    return PretrainConfig(**(options | {"vocab_size": 200, "checkpoint_every": 2.0, "precision": "fp32"} | changes))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(condition: Callable[[], bool], seconds: float = 90) -> None:
    """Wait until something is true, or fail."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)


def end_runs(runs: Runs) -> None:
    """Kill what still trains, and what waits first: its turn would come."""
    for run_id in runs.ids():
        if runs.state(run_id).status == "waiting":
            runs.stop(run_id)
    for run_id in runs.ids():
        state = runs.state(run_id)
        if is_worker(state):
            os.kill(state.pid, signal.SIGKILL)
