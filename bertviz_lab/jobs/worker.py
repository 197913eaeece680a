"""The process of one run: `python -m bertviz_lab.jobs.worker FOLDER`. It speaks through the folder only."""

import os
import signal
import sys
import threading
from pathlib import Path

from bertviz_lab.errors import InputError
from bertviz_lab.training.history import read_config, read_state, record, write_state


def main(folder: Path) -> int:
    """Train, or go on training, until done or told to stop by SIGTERM. Returns the exit code."""
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    signal.signal(signal.SIGINT, lambda *_: stop.set())
    state = read_state(folder)
    write_state(folder, state.__class__(**{**vars(state), "pid": os.getpid()}))

    from bertviz_lab.training.pretrain import pretrain  # torch takes a second: the state is written first

    resume = (folder / "events.jsonl").is_file()
    try:
        events = pretrain(read_config(folder), folder, resume=resume, should_stop=stop.is_set)
        for _ in record(events, folder):
            pass
    except InputError:
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
