"""The process of one run: `python -m bertviz_lab.jobs.worker FOLDER PARENT NICE`. It reports through FOLDER."""

import os
import signal
import sys
import threading
from dataclasses import replace
from pathlib import Path

import psutil

from bertviz_lab.errors import InputError
from bertviz_lab.training import run_training
from bertviz_lab.training.runs.run_folder import read_config, read_state, record, write_state

#: Its presence in the folder of a run asks the run to stop; unlike SIGTERM this works on Windows too.
STOP_FILE = "stop-requested"
_POLL_SECONDS = 0.2


def main(folder: Path, parent: int, nice: int) -> int:
    """Train, or resume training, until done, asked to stop (`STOP_FILE`, SIGTERM), or orphaned by the server.

    Returns the exit code: 0, or 2 for a text or settings that cannot be used.
    """
    _lower_priority(nice)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    threading.Thread(target=_watch, args=(folder, parent, stop), daemon=True).start()
    write_state(folder, replace(read_state(folder), pid=os.getpid()))
    resume = (folder / "events.jsonl").is_file()
    try:
        events = run_training(read_config(folder), folder, resume=resume, should_stop=stop.is_set)
        for _ in record(events, folder):
            pass
    except InputError:
        return 2  # the message is in the run's state
    return 0


def _watch(folder: Path, parent: int, stop: threading.Event) -> None:
    """Set `stop` when it is requested, or when the parent has ended and nobody is left who could request it."""
    while not stop.wait(_POLL_SECONDS):
        if (folder / STOP_FILE).exists() or os.getppid() != parent or not psutil.pid_exists(parent):
            stop.set()


def _lower_priority(nice: int) -> None:
    if hasattr(os, "nice"):
        os.nice(nice)
    elif nice:
        psutil.Process().nice(psutil.BELOW_NORMAL_PRIORITY_CLASS)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))
