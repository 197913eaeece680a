"""The state of optimisers and of the random stream in a file that nothing in it can run from."""

import pytest
import torch
from safetensors.torch import save_file

from bertviz_lab.config import PretrainConfig
from bertviz_lab.training.loop.optim import build_optimizers
from bertviz_lab.training.loop.training_run import load_optimizers, optimizer_tensors
from tests.model.support import PRETRAINING, build, inputs, labels_for


def step(model: torch.nn.Module, optimizers) -> None:
    model(**inputs(), **labels_for(PRETRAINING)).loss.backward()
    for optimizer in optimizers:
        optimizer.step()
        optimizer.zero_grad()


@pytest.mark.parametrize("rule", ["adamw", "muon"])
def test_optimizers_resume_exactly(rule, tmp_path):
    settings = PretrainConfig(corpus=("none",), optimizer=rule)
    model = build(PRETRAINING)
    optimizers = build_optimizers(model, settings, 1e-2)
    for _ in range(3):
        step(model, optimizers)
    save_file(optimizer_tensors(optimizers), tmp_path / "optimizer.safetensors")
    copy = build(PRETRAINING, seed=1)
    copy.load_state_dict(model.state_dict())
    fresh = build_optimizers(copy, settings, 1e-2)
    load_optimizers(fresh, tmp_path / "optimizer.safetensors")
    for _ in range(2):
        step(model, optimizers)
        step(copy, fresh)
    assert all(torch.equal(p, q) for p, q in zip(model.parameters(), copy.parameters(), strict=True))


def test_the_random_generator_resumes_exactly(tmp_path):
    torch.manual_seed(4)
    torch.rand(7)
    save_file(optimizer_tensors([]), tmp_path / "optimizer.safetensors")
    expected = torch.rand(5)
    torch.manual_seed(99)
    load_optimizers([], tmp_path / "optimizer.safetensors")
    assert torch.equal(torch.rand(5), expected)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
def test_the_random_generator_of_a_gpu_resumes_exactly(tmp_path):
    torch.rand(7, device="cuda")
    save_file(optimizer_tensors([]), tmp_path / "optimizer.safetensors")
    expected = torch.rand(5, device="cuda")
    torch.cuda.manual_seed(99)
    load_optimizers([], tmp_path / "optimizer.safetensors")
    assert torch.equal(torch.rand(5, device="cuda"), expected)


def test_a_checkpoint_of_a_gpu_resumes_on_a_cpu(tmp_path, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_rng_state", lambda: torch.zeros(16, dtype=torch.uint8))
    save_file(optimizer_tensors([]), tmp_path / "optimizer.safetensors")
    monkeypatch.undo()
    load_optimizers([], tmp_path / "optimizer.safetensors")
