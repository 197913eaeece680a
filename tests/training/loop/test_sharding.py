"""Several processes: sharded models, and a clock that all of them read alike."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import nn

from bertviz_lab import load_checkpoint
from bertviz_lab.training.checkpoints.checkpoint_manager import CheckpointManager
from bertviz_lab.training.loop.clock import SYNC_SECONDS, Stopwatch
from bertviz_lab.training.loop.sharding import shard_like, whole, whole_model
from bertviz_lab.training.runs.run_folder import record
from tests.training.support import SHARED_RUN, after, fake_clock, finish, launch, logged, same, short_run, weights


@pytest.fixture
def sharded(monkeypatch: pytest.MonkeyPatch) -> None:
    """What `accelerate launch --use_fsdp --fsdp_version 2` tells its processes."""
    monkeypatch.setenv("ACCELERATE_USE_FSDP", "true")
    monkeypatch.setenv("FSDP_VERSION", "2")


def moments(folder: Path) -> dict[str, torch.Tensor]:
    return {name: tensor for name, tensor in load_file(folder / "optimizer.safetensors").items() if name != "random"}


@pytest.mark.slow
def test_the_losses_the_model_and_the_moments_are_those_of_one_process(text, tmp_path, sharded, monkeypatch):
    options = {**SHARED_RUN, "short_seq_len": 16, "short_share": 0.5}  # then the positions are extended
    launch({**options, "corpus": text}, tmp_path / "two", 2)
    monkeypatch.undo()
    config = short_run(text, **options, gradient_accumulation_steps=2)
    (tmp_path / "one").mkdir()
    list(record(finish(config, tmp_path / "one"), tmp_path / "one"))
    one, two = (dict(logged(tmp_path / name)[:3]) for name in ("one", "two"))
    assert one == pytest.approx(two, abs=1e-5)
    assert same(weights(tmp_path / "one" / "model"), weights(tmp_path / "two" / "model"))
    saved = [CheckpointManager(tmp_path / name / "checkpoints").newest() for name in ("one", "two")]
    states = [moments(checkpoint.path) for checkpoint in saved if checkpoint]
    assert states[0].keys() == states[1].keys()
    assert all(states[0][name].shape == states[1][name].shape for name in states[0]), "whole, not one process's part"
    assert same(*states)


@pytest.mark.slow
@pytest.mark.thorough
def test_what_was_saved_opens_like_any_other_and_resumes_in_any_number_of_processes(text, tmp_path, sharded):
    launch({**SHARED_RUN, "corpus": text}, tmp_path / "run", 2)
    checkpoint = load_checkpoint(tmp_path / "run" / "model")
    assert checkpoint.report.missing == ()
    assert checkpoint.kind == "BertForPreTraining"
    assert list((tmp_path / "run" / "snapshots").glob("*.safetensors"))
    launch({"steps": 9}, tmp_path / "run", 2, "--resume")
    launch({**SHARED_RUN, "corpus": text}, tmp_path / "whole", 1)
    launch({"steps": 9}, tmp_path / "whole", 1, "--resume")
    assert same(weights(tmp_path / "run" / "model"), weights(tmp_path / "whole" / "model"), 1e-4)
    launch({"steps": 12}, tmp_path / "run", 1, "--resume")
    assert json.loads((tmp_path / "run" / "report.json").read_text())["step"] == 12


def test_what_is_not_sharded_stays_as_it_is():
    model, tensor = nn.Linear(2, 2), torch.ones(3)
    assert whole_model(model, is_main=True) is model
    assert whole(tensor) is tensor
    assert shard_like(tensor, torch.zeros(3)) is tensor


@dataclass
class Network:
    """What the stopwatches of several processes use of `Hardware`: the values of rank 0 reach all."""

    rank: int
    sent: list[Any] = field(default_factory=list)
    processes: int = 2
    received: int = 0

    def broadcast(self, value: Any) -> Any:
        if self.rank == 0:
            self.sent.append(value)
            return self.sent[-1]
        self.received += 1
        return self.sent[self.received - 1]


def test_processes_see_the_same_seconds_and_exchange_them_a_few_times_a_second(monkeypatch):
    fake_clock(monkeypatch, 0.001)
    main = Network(0)
    stopwatch = Stopwatch(main, lambda: False, earlier=5.0)
    reads = [stopwatch.read() for _ in range(2000)]

    fake_clock(monkeypatch, 0.5)  # the other machine's clock is wrong
    other = Stopwatch(Network(1, main.sent), lambda: True, earlier=5.0)
    assert [other.read() for _ in range(2000)] == reads

    seconds = [at for at, _ in reads]
    assert seconds == sorted(seconds)
    assert seconds[0] > 5.0
    assert seconds[-1] - 5.0 == pytest.approx(len(main.sent) * SYNC_SECONDS, rel=0.2)
    assert len(main.sent) < 50


def test_a_stop_request_reaches_all_processes_at_the_same_step(monkeypatch):
    fake_clock(monkeypatch, 0.01)
    main = Network(0)
    stopwatch = Stopwatch(main, after(5), earlier=0.0)
    reads = [stopwatch.read() for _ in range(400)]
    other = Stopwatch(Network(1, main.sent), lambda: False, earlier=0.0)
    assert [other.read() for _ in range(400)] == reads
    assert [stop for _, stop in reads].index(True) < 4 * 5 * SYNC_SECONDS / 0.01


def test_a_single_process_reads_its_clock_and_asks_for_a_stop_each_step():
    stopwatch = Stopwatch(Network(0, processes=1), after(2), earlier=0.0)
    assert [stopwatch.read()[1] for _ in range(3)] == [False, False, True]
