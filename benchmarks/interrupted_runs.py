"""Small real runs in processes forked from one that has imported everything, to be interrupted."""

import itertools
import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch._dynamo
import torch.distributed.tensor

from bertviz_lab.cli.main import main as command_line
from bertviz_lab.config import PRESETS
from bertviz_lab.training.loop import loop
from bertviz_lab.training.pretraining.pretrain import pretrain

#: What a training imports only when it needs it is imported before the first fork, not after every one.
_IMPORTED = (pretrain, torch._dynamo, torch.distributed.tensor)

STEPS = 80
STUCK = 120.0  # seconds after which a sitting counts as hanging

_WHO = ("the cat", "a dog", "the old man", "my sister", "the baker")
_DID = ("sat on", "looked at", "walked around", "slept under", "talked about")
_WHAT = ("the mat", "a tree", "the red house", "his bread", "the river")


def write_text(path: Path) -> Path:
    parts = itertools.cycle(itertools.product(_WHO, _DID, _WHAT))
    documents = ["\n".join(f"{' '.join(next(parts))}." for _ in range(6)) for _ in range(40)]
    path.write_text("\n\n".join(documents) + "\n", encoding="utf-8")
    return path


@dataclass(frozen=True)
class Sitting:
    """A process that trains in a folder."""

    pid: int
    output: Path

    def ended(self) -> int | None:
        """The exit code (negative for a signal), None while it works."""
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        return os.waitstatus_to_exitcode(status) if pid else None

    def wait(self, seconds: float, until: Callable[[], bool] = lambda: False) -> int | None:
        """Wait so long, or until something is so; the exit code if it ends meanwhile."""
        end = time.monotonic() + seconds
        while (code := self.ended()) is None and time.monotonic() < end and not until():
            time.sleep(0.0005)
        return code

    def end(self, number: int) -> int:
        """Send a signal and wait for the end; a sitting that does not end is killed, and says so in its code."""
        os.kill(self.pid, number)
        code = self.wait(STUCK)
        if code is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            return -999
        return code


def sit_down(
    folder: Path, text: Path, optimizer: str, *, cache: str = "none", largest_file: int | None = None
) -> Sitting:
    """Begin a run, or go on with it, in a process of its own."""
    output = folder.with_suffix(".out")
    pid = os.fork()
    if pid:
        return Sitting(pid, output)
    code = 99
    try:
        handle = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(handle, 1)
        os.dup2(handle, 2)
        os.environ["BERTVIZ_LAB_CACHE"] = cache
        if largest_file is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, resource.RLIM_INFINITY))
        PRESETS["tiny"] = (2, 32, 2)
        loop._report_due = lambda window, progress: True
        options = f"--preset tiny --steps {STEPS} --vocab-size 120 --seq-len 24 --short-seq-len 12 --batch-size 4"
        options += " --dropout 0.1 --threads 1 --precision fp32 --documents blank-line"
        options += " --checkpoint-every 0.1 --eval-every 0.3 --seed 3"
        run = ["pretrain", "--corpus", str(text), "--out", str(folder), "--resume", "--optimizer", optimizer]
        code = command_line([*run, *options.split()])
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
