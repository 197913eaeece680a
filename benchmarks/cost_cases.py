"""What `cost` measures, each in a process of its own: a training step, the preparation of a text, or a whole run."""

import sys
import tempfile
import time
from pathlib import Path

import torch

from benchmarks.alternating_processes import SIDES, Case, stepper, turn
from benchmarks.corpus import find_text, learnt_tokenizer
from benchmarks.machine import peak_memory, run_and_watch
from bertviz_lab.config import BertConfig, PretrainConfig
from bertviz_lab.config.cores import available_cores
from bertviz_lab.config.limits import Limits
from bertviz_lab.training.loop.hardware import choose_hardware
from bertviz_lab.training.pretraining.prepare import prepare
from bertviz_lab.training.runs.run_folder import read_log
from bertviz_lab.ui.state.forecast import Forecaster

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


def forecast_and_run(preset: str, batch_size: int, seconds: float) -> dict[str, float]:
    """Tokens a second: the page's forecast before a run, the run's own, and the forecast after it.

    The run is `bertviz-lab pretrain` in a process of its own, whose memory is not that of the measurement.
    """
    text = find_text()
    with tempfile.TemporaryDirectory() as folder:
        learnt_tokenizer(text.train, 8192).save(Path(folder) / "tokenizer")
        config = PretrainConfig(corpus=(str(text.train),), preset=preset, batch_size=batch_size)
        model = BertConfig.preset(preset, vocab_size=8192)
        choose_hardware("auto", available_cores())  # threads and memory as of any run
        before = Forecaster(Limits.of(shared=False)).forecast(config, model)
        command = [sys.executable, "-m", "bertviz_lab", "pretrain", "--corpus", str(text.train), "--preset", preset]
        command += ["--batch-size", str(batch_size), "--tokenizer", f"{folder}/tokenizer", "--eval-every", "86400"]
        peak = run_and_watch([*command, "--time-budget", f"{seconds:g}s", "--out", f"{folder}/run"])
        last = [row for row in read_log(Path(folder) / "run")[0] if row["event"] == "StepDone"][-1]
        after = Forecaster(Limits.of(shared=False)).forecast(config, model)
    return {
        "before": round(before.tokens_per_second),
        "run": round(last["tokens"] / last["seconds"]),
        "after": round(after.tokens_per_second),
        "forecast_megabytes": round(before.memory_bytes / 1e6),
        "megabytes": round(peak / 1e6),
    }
