"""FSDP2: two processes that each hold half of a model train the one that a single process trains."""

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch import nn

from bertviz_lab import load_checkpoint
from bertviz_lab.training.checkpoints.checkpoint_manager import CheckpointManager
from bertviz_lab.training.loop.sharding import shard_like, whole, whole_model
from bertviz_lab.training.runs.run_folder import record
from tests.training.support import SHARED_RUN, finish, launch, logged, same, short_run, weights


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
