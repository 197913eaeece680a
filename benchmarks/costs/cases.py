"""One measurement in this process: a training step, the preparation of a text, or a run from its start to its end."""

import tempfile
import time
from dataclasses import replace
from pathlib import Path

import torch

from benchmarks.alternating_processes import SIDES, Case, stepper, turn
from benchmarks.corpus import find_text, learnt_tokenizer
from benchmarks.machine import peak_memory
from bertviz_lab.config import BertConfig, PretrainConfig
from bertviz_lab.config.limits import Limits
from bertviz_lab.training.loop.hardware import available_cores, choose_hardware
from bertviz_lab.training.pretraining.prepare import prepare
from bertviz_lab.training.pretraining.pretrain import pretrain
from bertviz_lab.training.runs.events import StepDone
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

    The run is that of `bertviz-lab pretrain`: its loop, data, evaluation and checkpoints.
    """
    text = find_text()
    with tempfile.TemporaryDirectory() as folder:
        learnt_tokenizer(text.train, 8192).save(Path(folder) / "tokenizer")
        config = PretrainConfig(
            corpus=(str(text.train),),
            preset=preset,
            batch_size=batch_size,
            time_budget=f"{seconds:g}s",
            tokenizer=str(Path(folder) / "tokenizer"),
        )
        model = BertConfig.preset(preset, vocab_size=8192)
        choose_hardware("auto", available_cores())  # threads and memory as of any run
        before = Forecaster(Limits.of(shared=False)).forecast(config, model)
        events = pretrain(replace(config, eval_every=86_400.0), Path(folder) / "run")
        last = [event for event in events if isinstance(event, StepDone)][-1]
        after = Forecaster(Limits.of(shared=False)).forecast(config, model)
    return {
        "before": round(before.tokens_per_second),
        "run": round(last.tokens / last.seconds),
        "after": round(after.tokens_per_second),
        "forecast_megabytes": round(before.memory_bytes / 1e6),
        "megabytes": round(peak_memory() / 1e6),
    }
