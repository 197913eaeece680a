"""A small text and short runs on it, and checkpoints of small models."""

import contextlib
import itertools
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from bertviz_lab.config import FinetuneConfig, PretrainConfig
from bertviz_lab.data.pretraining.batches import PretrainingData, masking_rule
from bertviz_lab.tokenization import Tokenizer
from bertviz_lab.training.checkpoints.checkpoint import Checkpoint
from bertviz_lab.training.loop.growth import extend_positions
from bertviz_lab.training.loop.hardware import Hardware
from bertviz_lab.training.pretraining.pretrain import pretrain
from bertviz_lab.training.runs.events import Event, RunStarted
from tests.data.support import corpus_of_ids
from tests.model.support import Kind, build, small_config

RunConfig = PretrainConfig | FinetuneConfig
CPU = Hardware(torch.device("cpu"), "fp32", 1)

_WHO = ("The cat", "A dog", "The old man", "My sister", "The baker")
_DID = ("sat on", "looked at", "walked around", "slept under", "talked about")
_WHAT = ("the mat", "a tree", "the red house", "his bread", "the river")


def write_text(path: Path, documents: int = 40, sentences: int = 6) -> Path:
    """Documents of short sentences, a blank line after each."""
    parts = itertools.cycle(itertools.product(_WHO, _DID, _WHAT))
    texts = ["\n".join(f"{' '.join(next(parts))}." for _ in range(sentences)) for _ in range(documents)]
    path.write_text("\n\n".join(texts) + "\n")
    return path


def short_run(text: Path, **changes: object) -> PretrainConfig:
    """A run of a dozen steps on one thread in which nothing depends on the clock but the reports."""
    options: dict = {
        "corpus": (str(text),), "documents": "blank-line", "preset": "tiny", "steps": 12, "vocab_size": 120,
        "seq_len": 24, "batch_size": 4, "precision": "fp32", "threads": 1, "warmup": 0.2,
    }  # fmt: skip
    return PretrainConfig(**(options | changes))


def after(steps: int) -> Callable[[], bool]:
    """A `should_stop` that says yes once it has let `steps` steps pass."""
    asked = itertools.count()
    return lambda: next(asked) >= steps


def fake_clock(monkeypatch: pytest.MonkeyPatch, tick: float) -> Iterator[float]:
    """A clock that moves on by `tick` seconds whenever it is read."""
    clock = itertools.count(step=tick)
    monkeypatch.setattr("time.perf_counter", lambda: next(clock))
    return clock


def finish(
    config: PretrainConfig, folder: Path, should_stop: Callable[[], bool] = lambda: False, **options
) -> list[Event]:
    """All events of a run; `should_stop` is asked while it trains, and not yet while its text is prepared."""
    events: list[Event] = []
    run = pretrain(config, folder, should_stop=lambda: any(map(_is_start, events)) and should_stop(), **options)
    for event in run:
        events.append(event)
    return events


def _is_start(event: Event) -> bool:
    return isinstance(event, RunStarted)


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise `TimeoutError` in what takes longer, so that a test of an endless loop ends."""

    def over(*_: object) -> None:
        raise TimeoutError(f"not done after {seconds} s")

    before = signal.signal(signal.SIGALRM, over)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def small_data(tokenizer: Tokenizer, **changes) -> PretrainingData:
    """Twenty documents of random tokens."""
    rng = np.random.default_rng(0)
    texts = [[rng.integers(5, tokenizer.vocab_size, size=5).tolist() for _ in range(6)] for _ in range(20)]
    options: dict = {
        "documents": corpus_of_ids(texts).select(np.arange(20)), "tokenizer": tokenizer,
        "rule": masking_rule(tokenizer), "seq_len": 19, "batch_size": 8, "short_seq_probability": 0.1,
        "pairs": "nsp", "seed": 1,
    }  # fmt: skip
    return PretrainingData(**(options | changes))


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return load_file(folder / "model.safetensors")


def identical(a: dict[str, torch.Tensor], b: dict[str, torch.Tensor]) -> bool:
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


def resumes_exactly(
    config: RunConfig, folder: Path, steps: int = 5, run: Callable[..., list[Event]] = finish, **changes: object
) -> bool:
    """Whether a run that is stopped after some steps, and resumed with changes, trains the model of a run in one go."""
    run(config, folder / "whole")
    assert run(config, folder / "parts", should_stop=after(steps))[-1].reason == "stopped"
    run(replace(config, **changes), folder / "parts", resume=True)
    return identical(*(weights(folder / name / "model") for name in ("whole", "parts")))


def started(events: list) -> RunStarted:
    (event,) = (event for event in events if isinstance(event, RunStarted))
    return event


def checkpoint_of(kind: Kind, tokenizer: Tokenizer, **changes) -> Checkpoint:
    model = build(kind, small_config(**changes))
    return Checkpoint(model, tokenizer, model.config, card="# A card\n")


def rewrite_config(folder: Path, **changes) -> None:
    body = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(body | changes))


def record_extensions(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int, list[int]]]:
    """What `pretrain` asks of `extend_positions` from now on: trained and new length, the positions that changed."""
    extensions = []

    def extend(model: torch.nn.Module, known: int, length: int) -> bool:
        before = model.bert.embeddings.position.weight.clone()
        extended = extend_positions(model, known, length)
        changed = (before != model.bert.embeddings.position.weight).any(1).nonzero().flatten()
        extensions.append((known, length, changed.tolist()))
        return extended

    monkeypatch.setattr("bertviz_lab.training.pretraining.pretrain.extend_positions", extend)
    return extensions


#: A short run that several processes can share: batches of odd size, a warmup, no rounding.
SHARED_RUN = {
    "documents": "blank-line", "preset": "tiny", "vocab_size": 120, "seq_len": 24, "batch_size": 7,
    "precision": "fp32", "threads": 1, "warmup": 0.2, "optimizer": "adamw", "steps": 6,
}  # fmt: skip


def launch(config: Mapping[str, object], folder: Path, processes: int, *options: str) -> None:
    """Pretrain by the command line under torchrun."""
    arguments = [part for name, value in config.items() for part in ("--" + name.replace("_", "-"), str(value))]
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"]
    command += ["-m", "bertviz_lab", "pretrain", "--out", str(folder), *arguments, *options]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=240)
    assert done.returncode == 0, done.stderr[-3000:]


def logged(folder: Path) -> list[tuple[int, float]]:
    """(step, mean loss since the last report): with the first three steps of each sitting one by one."""
    rows = [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]
    return [(row["step"], row["loss"]) for row in rows if row["event"] == "StepDone"]


def same(a: dict, b: dict, tolerance: float = 2e-5) -> bool:
    return all(torch.allclose(a[name], b[name], atol=tolerance) for name in a)
