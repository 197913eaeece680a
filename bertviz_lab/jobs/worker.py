"""The process of one run: `python -m bertviz_lab.jobs.worker PARENT NICE MEMORY SECONDS`, its folder on standard input.

Its imports take seconds: it can be started before there is a run for it. It reports through the folder.
"""

import importlib
import math
import os
import platform
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import psutil

from bertviz_lab.config.limits import words_of
from bertviz_lab.confined.worker import is_out_of_memory, limit_memory
from bertviz_lab.errors import InputError
from bertviz_lab.jobs.processes import STOP_FILE
from bertviz_lab.training import run_training, stop_on_signals
from bertviz_lab.training.runs.events import Event
from bertviz_lab.training.runs.notifier import Notifier
from bertviz_lab.training.runs.run_folder import read_config, read_state, record, write_state

_POLL_SECONDS = 0.2
#: What takes seconds to import: all that training needs, and what PyTorch imports with the first optimizer.
_PRELOADED = ("bertviz_lab.training.pretraining.pretrain", "torch._dynamo")


def main(folder: Path, parent: int, memory_bytes: int = 0, most_seconds: float = 0.0) -> int:
    """Train, or resume training, until done, asked to stop (`STOP_FILE`, SIGTERM), or orphaned by the server.

    `memory_bytes` limits what it may take beyond the libraries; after `most_seconds` it saves a checkpoint and stops,
    and 0 sets no limit. Returns the exit code: 0, or 2 for a text or settings that cannot be used.
    """
    stop = stop_on_signals()
    end = time.monotonic() + (most_seconds or math.inf)
    threading.Thread(target=_watch, args=(folder, parent, stop, end), daemon=True).start()
    if memory_bytes:
        _limit_memory(folder, memory_bytes)
    resume = (folder / "events.jsonl").is_file()
    try:
        events = run_training(read_config(folder), folder, resume=resume, should_stop=stop.is_set)
        recorded = record(_explained(events, memory_bytes), folder)
        for _ in Notifier.of_environment().watch(recorded, folder, public=False):
            pass
    except InputError:
        return 2  # the message is in the run's state
    state = read_state(folder)
    if state.status == "stopped" and time.monotonic() >= end:
        reason = f"It was stopped after {words_of('seconds', most_seconds)}, the longest that a run of this page takes."
        write_state(folder, replace(state, message=reason))
    return 0


def _limit_memory(folder: Path, most: int) -> None:
    """Limit it by the kernel, but not with CUDA, which reserves terabytes of addresses, nor on macOS and Windows."""
    import torch

    if sys.platform == "linux" and not torch.cuda.is_available():
        limit_memory(most)
    else:
        threading.Thread(target=_watch_memory, args=(folder, most), daemon=True).start()


def _watch_memory(folder: Path, most: int) -> None:
    process = psutil.Process()
    while process.memory_info().rss <= most:
        time.sleep(_POLL_SECONDS)
    write_state(folder, replace(read_state(folder), status="failed", message=_too_much(most), eta_seconds=None))
    os._exit(2)


def _explained(events: Iterable[Event], memory_bytes: int) -> Iterator[Event]:
    """Yield the events; an error of memory becomes one sentence."""
    try:
        yield from events
    except Exception as error:
        if memory_bytes and is_out_of_memory(error):
            raise InputError(_too_much(memory_bytes)) from error
        raise


def _too_much(most: int) -> str:
    return (
        f"This run needs more than {words_of('bytes', most)} of memory, which is what this page gives to one: choose "
        "a smaller model, a smaller batch size or a part of the data."
    )


def _watch(folder: Path, parent: int, stop: threading.Event, end: float) -> None:
    """Set `stop` when it is requested, when the time is over, or when nobody is left who could request it."""
    while not stop.wait(_POLL_SECONDS):
        orphaned = os.getppid() != parent or not psutil.pid_exists(parent)
        if orphaned or (folder / STOP_FILE).exists() or time.monotonic() >= end:
            stop.set()


def _lower_priority(nice: int) -> None:
    if hasattr(os, "nice"):
        os.nice(nice)
    elif nice:
        psutil.Process().nice(psutil.BELOW_NORMAL_PRIORITY_CLASS)


def _take_run() -> Path | None:
    """Wait for the folder of a run, and report to it from then on; None where the server ends without one."""
    name = os.fsdecode(sys.stdin.buffer.read())
    if not name:
        return None
    folder = Path(name)
    log = os.open(folder / "worker.log", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    for standard in (1, 2):  # output and errors
        os.dup2(log, standard)
    write_state(folder, replace(read_state(folder), pid=os.getpid(), host=platform.node()))
    return folder


if __name__ == "__main__":
    parent, nice, memory, seconds = sys.argv[1:]
    _lower_priority(int(nice))
    with ThreadPoolExecutor(1) as pool:
        taken = pool.submit(_take_run)
        for module in _PRELOADED:
            importlib.import_module(module)
    given = taken.result()
    sys.exit(main(given, int(parent), int(memory), float(seconds)) if given else 0)
