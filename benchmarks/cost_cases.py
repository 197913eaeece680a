"""What `cost` measures, each in a process of its own: a training step, or the preparation of a text."""

import tempfile
import time
from pathlib import Path

import torch

from benchmarks.alternating_processes import SIDES, Case, stepper, turn
from benchmarks.corpus import find_text
from benchmarks.machine import peak_memory
from bertviz_lab.config import PretrainConfig
from bertviz_lab.config.cores import available_cores
from bertviz_lab.training.pretraining.prepare import prepare

PLACES = 4096  # for tokens, in every step


def training_step(side: str, preset: str, vocab_size: int, seq_len: int, seconds: float) -> dict[str, float]:
    """Microseconds a token, and the peak of memory, of steps with 4,096 places for tokens."""
    case = Case(preset, vocab_size, PLACES // seq_len)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    step = stepper(SIDES[side], case, device, available_cores(), "auto", seq_len)
    turn(step, device, seconds / 4)
    speed = turn(step, device, seconds)
    peak = torch.cuda.max_memory_allocated() if device.type == "cuda" else peak_memory()
    return {"microseconds": round(1e6 / speed, 2), "megabytes": round(peak / 1e6)}


def preparation(megabytes: float) -> dict[str, float]:
    """Seconds to read, learn a vocabulary of 8,192 from, and tokenize the start of the text; and what it takes."""
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "text.txt"
        with find_text().train.open("rb") as whole:
            text.write_bytes(whole.read(round(megabytes * 1e6)))
        config = PretrainConfig(corpus=(str(text),), documents="blank-line")
        run = Path(folder) / "run"
        run.mkdir()
        start = time.perf_counter()
        for _ in prepare(config, run):
            pass
        return {"seconds": round(time.perf_counter() - start, 2), "megabytes": round(peak_memory() / 1e6)}
