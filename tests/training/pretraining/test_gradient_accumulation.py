"""A step in parts, in half precision, in several processes: the same step."""

import json
from dataclasses import replace

import pytest
import torch

from bertviz_lab import BertForPreTraining
from bertviz_lab.model.encoder import set_gradient_checkpointing
from bertviz_lab.training.runs.events import EvalDone, StepDone
from tests.model.support import small_config
from tests.training.support import SHARED_RUN, finish, launch, logged, resumes_exactly, same, short_run, weights


def losses(events) -> list[float]:
    return [event.loss for event in events if isinstance(event, StepDone)]


@pytest.fixture
def report_always(monkeypatch) -> None:
    monkeypatch.setattr("bertviz_lab.training.loop.loop._report_due", lambda window, progress: True)


@pytest.mark.parametrize("objective", ["mlm+nsp", "mlm", "mlm+sop", "rtd"])
def test_a_step_in_parts_is_the_step_as_a_whole(text, tmp_path, objective, report_always):
    # AdamW, because Muon works in 16 bits, which makes a last digit a third one. Masks differ in number from row to
    # row, so a mean of the parts' means would be another gradient.
    runs = {}
    for parts in (1, 3):
        options = {"objective": objective, "optimizer": "adamw", "batch_size": 7, "short_seq_probability": 0.5}
        config = short_run(text, **options, gradient_accumulation_steps=parts)
        runs[parts] = finish(config, tmp_path / str(parts))
    assert losses(runs[3]) == pytest.approx(losses(runs[1]), abs=1e-5)
    assert same(weights(tmp_path / "1" / "model"), weights(tmp_path / "3" / "model"))
    scores = [[e for e in events if isinstance(e, EvalDone)][-1].metrics for events in runs.values()]
    assert scores[0] == pytest.approx(scores[1], abs=1e-4)


@pytest.mark.slow
def test_two_processes_train_the_model_that_one_trains(text, tmp_path, monkeypatch):
    monkeypatch.undo()  # the processes know the real sizes of models
    launch({**SHARED_RUN, "corpus": text}, tmp_path / "two", 2)
    config = short_run(text, **SHARED_RUN)
    events = finish(replace(config, gradient_accumulation_steps=2), tmp_path / "one")
    assert same(weights(tmp_path / "one" / "model"), weights(tmp_path / "two" / "model"))
    first = [loss for _, loss in logged(tmp_path / "two")][:3]
    assert first == pytest.approx(losses(events)[:3], abs=1e-5)
    tokens = {json.loads((tmp_path / name / "report.json").read_text())["tokens"] for name in ("one", "two")}
    assert len(tokens) == 1, "each example is seen once"
    for name in ("one", "two"):  # resumed by another number of processes
        finish(replace(config, steps=9), tmp_path / name, resume=True)
    assert same(weights(tmp_path / "one" / "model"), weights(tmp_path / "two" / "model"), 1e-4)


def test_in_fp16_the_loss_scale_is_saved_and_restored(text, tmp_path):
    assert resumes_exactly(short_run(text, precision="fp16"), tmp_path)
    saved = tmp_path / "whole" / "checkpoints" / "step-00000012" / "trainer.json"
    assert json.loads(saved.read_text())["scale"]["scale"] > 1.0


def test_it_may_be_turned_on_when_a_run_is_resumed(text, tmp_path):
    assert resumes_exactly(short_run(text, dropout=0.1), tmp_path, gradient_checkpointing=True)


def kept_bytes(on: bool) -> int:
    """What a forward pass keeps for the backward pass."""
    config = small_config(num_hidden_layers=6)
    model = BertForPreTraining(config, generator=torch.Generator().manual_seed(0)).train()
    set_gradient_checkpointing(model, on)
    kept: dict[int, int] = {}

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        kept[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    ids = torch.randint(5, config.vocab_size, (8, config.max_position_embeddings))
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        model(ids, labels=ids)
    own = {parameter.untyped_storage().data_ptr() for parameter in model.parameters()}
    return sum(size for place, size in kept.items() if place not in own)


def test_less_is_kept_for_the_backward_pass():
    assert kept_bytes(True) < 0.5 * kept_bytes(False)
