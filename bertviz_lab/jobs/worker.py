"""The process of one run: `python -m bertviz_lab.jobs.worker FOLDER PARENT NICE`. It speaks through the folder only."""

import os
import signal
import sys
import threading
from dataclasses import replace
from pathlib import Path

from bertviz_lab.errors import InputError
from bertviz_lab.training.runs.run import run
from bertviz_lab.training.runs.run_folder import read_config, read_state, record, write_state

_WATCH_SECONDS = 1.0


def main(folder: Path, parent: int, nice: int) -> int:
    """Train, or go on training, until done, told to stop by SIGTERM, or left behind by the server.

    Returns the exit code: 0, or 2 for a text or settings that cannot be used.
    """
    os.nice(nice)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    threading.Thread(target=_watch_parent, args=(parent, stop), daemon=True).start()
    write_state(folder, replace(read_state(folder), pid=os.getpid()))
    resume = (folder / "events.jsonl").is_file()
    try:
        events = run(read_config(folder), folder, resume=resume, should_stop=stop.is_set)
        for _ in record(events, folder):
            pass
    except InputError:
        return 2  # the sentence stands in the run's state
    return 0


def _watch_parent(parent: int, stop: threading.Event) -> None:
    """A child whose parent has ended is given another; then nobody is left who could stop this run."""
    while not stop.wait(_WATCH_SECONDS):
        if os.getppid() != parent:
            stop.set()


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))
