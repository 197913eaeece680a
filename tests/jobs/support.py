"""Small runs in processes of their own, and how to wait for them and be rid of them."""

import os
import signal
import time
from collections.abc import Callable

import psutil

from bertviz_lab import PretrainConfig
from bertviz_lab.jobs import Runs


def settings(**changes: object) -> PretrainConfig:
    options = {"corpus": ("x",), "preset": "tiny", "steps": 100_000, "seq_len": 16, "batch_size": 4, "threads": 1}
    return PretrainConfig(**(options | {"vocab_size": 200, "checkpoint_every": 2.0, "precision": "fp32"} | changes))


def wait_for(condition: Callable[[], bool], seconds: float = 90) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.1)


def end_all(runs: Runs) -> None:
    """Empty the line, then kill what still trains."""
    for run_id in runs.ids():
        if runs.state(run_id).status == "waiting":
            runs.stop(run_id)
    for run_id in runs.ids():
        pid = runs.state(run_id).pid
        if pid and psutil.pid_exists(pid) and run_id in " ".join(psutil.Process(pid).cmdline()):
            os.kill(pid, signal.SIGKILL)
