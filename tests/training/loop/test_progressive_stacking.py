"""Progressive stacking: layers that have not joined add nothing, cost nothing and are not trained."""

import copy
import json
from pathlib import Path

import pytest
import torch
from torch import nn

from bertviz_lab import load_checkpoint
from bertviz_lab.model import BertForMaskedLM
from bertviz_lab.model.encoder import Encoder, EncoderLayer
from bertviz_lab.training.loop.growth import ProgressiveStacking, layers_at
from bertviz_lab.training.runs.console import format_event
from bertviz_lab.training.runs.snapshot_reader import open_snapshots
from tests.family_checkpoints import family_checkpoint
from tests.model.support import KINDS, build, largest_difference, small_config
from tests.training.support import after, finish, identical, short_run, weights

IDS, MASKED = torch.arange(5, 17).view(1, -1), torch.tensor([[2, 5]])


def layers_of(model: nn.Module) -> list[EncoderLayer]:
    (encoder,) = (module for module in model.modules() if isinstance(module, Encoder))
    return [layer for layer in encoder.layers if isinstance(layer, EncoderLayer)]


def logits(model: nn.Module, ids: torch.Tensor, **given) -> torch.Tensor:
    return model(ids % model.config.vocab_size, **given).logits


@pytest.mark.parametrize("model_type", ["bert", "roberta", "deberta-v2", "modernbert", "mpnet"])
def test_leaving_out_what_adds_nothing_changes_nothing(model_type, tmp_path):
    if model_type == "bert":
        model = build(next(kind for kind in KINDS if kind.ours is BertForMaskedLM))
    else:
        model = family_checkpoint(model_type, tmp_path, num_hidden_layers=3).model
    ProgressiveStacking(model, 0.9, lambda: 0.0, is_new=True)
    for module in model.modules():  # so that training differs from evaluation in what is left out alone
        for rate in ("dropout", "hidden_dropout_prob"):
            if isinstance(getattr(module, rate, None), float):
                setattr(module, rate, 0.0)
    for given in ({}, {"masked_positions": MASKED}):
        whole, shallow = (logits(model.train(mode), IDS, **given) for mode in (False, True))
        assert largest_difference(whole, shallow) < 1e-5
        logits(model, IDS, **given).sum().backward()
    first, *others = layers_of(model)
    assert first.attention.query.weight.grad is not None
    assert [layer.attention.query.weight.grad for layer in others] == [None] * len(others)


def test_a_layer_that_joins_leaves_the_model_as_it_was_and_is_trained_from_there():
    model = build(next(kind for kind in KINDS if kind.ours is BertForMaskedLM), small_config(hidden_dropout_prob=0.0))
    done = [0.0]
    stacking = ProgressiveStacking(model, 0.6, lambda: done[0], is_new=True)
    assert stacking.is_growing
    before = logits(model.eval(), IDS)
    done[0] = 0.7
    stacking.update()
    assert not stacking.is_growing
    model.train()
    for layer in layers_of(model):
        layer.attention.dropout = 0.0
    assert largest_difference(logits(model, IDS), before) < 1e-5
    logits(model, IDS).square().mean().backward()
    assert all(layer.output.weight.grad.any() for layer in layers_of(model))


def test_layers_that_are_trained_stay_whatever_the_schedule_says():
    model = build(next(kind for kind in KINDS if kind.ours is BertForMaskedLM))
    stacking = ProgressiveStacking(model, 0.9, lambda: 0.0, is_new=True)
    with torch.no_grad():
        layers_of(model)[1].output.bias.add_(1)
    assert stacking.is_growing
    ProgressiveStacking(model, 0.9, lambda: 0.0, is_new=False)
    assert [layer.is_idle for layer in layers_of(model)] == [False, False, True]


@pytest.mark.parametrize(("done", "layers"), [(0.0, 3), (0.29, 3), (0.3, 6), (0.59, 6), (0.6, 12), (1.0, 12)])
def test_half_of_the_phase_is_for_a_quarter_of_the_layers(done, layers):
    assert layers_at(0.6, 12, done) == layers


@pytest.fixture
def joined(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The layers that a run trains, one entry for each change."""
    told: list[int] = []
    update = ProgressiveStacking.update

    def told_update(stacking: ProgressiveStacking) -> None:
        update(stacking)
        trained = sum(not layer.is_idle for layer in stacking._layers)
        told.extend([trained] if told[-1:] != [trained] else [])

    monkeypatch.setattr(ProgressiveStacking, "update", told_update)
    return told


def growing(text: Path, **changes):
    options = {
        "preset": "mini",
        "layers": 4,
        "shallow_share": 0.6,
        "causal_share": 0.0,
        "short_share": 0.0,
        "steps": 10,
    }
    return short_run(text, **options | changes)


def test_a_run_trains_a_quarter_of_the_layers_then_half_then_all(text, tmp_path, joined):
    finish(growing(text), tmp_path)
    assert joined == [1, 2, 4]
    assert not any(layer.is_idle for layer in layers_of(load_checkpoint(tmp_path / "model").model))
    snapshots = open_snapshots(tmp_path)
    used = {step: projecting(snapshots.open(step).model) for step in snapshots.steps()}
    assert used == {0: 1, 1: 1, 2: 1, 5: 2, 10: 4}, "a snapshot has all layers, of which these add something"


def projecting(model: nn.Module) -> int:
    return sum(bool(layer.output.weight.any()) for layer in layers_of(model))


@pytest.mark.parametrize(("stopped_after", "idle"), [(2, "Layers 2, 3 and 4"), (4, "Layers 3 and 4"), (8, "")])
def test_a_run_that_is_resumed_in_any_phase_ends_bit_for_bit_as_in_one_go(text, tmp_path, stopped_after, idle):
    whole = finish(growing(text), tmp_path / "whole")[-1]
    stopped = finish(growing(text), tmp_path / "parts", after(stopped_after))[-1]
    assert whole.message == ""
    assert stopped.message.startswith(f"{idle} have not joined the training") if idle else not stopped.message
    assert format_event(stopped).endswith(stopped.message or "steps")
    assert json.loads((tmp_path / "parts" / "report.json").read_text())["step"] < 10
    finish(growing(text), tmp_path / "parts", resume=True)
    assert identical(*(weights(tmp_path / name / "model") for name in ("whole", "parts")))


@pytest.mark.parametrize(
    "changes", [{"shallow_share": 0.0}, {"share_layers": True}, {"layers": 1}, {"family": "albert"}]
)
def test_all_layers_are_trained_throughout_where_that_is_asked_for_or_they_are_one(text, tmp_path, joined, changes):
    finish(growing(text, steps=2, **changes), tmp_path)
    assert joined == [4 if changes == {"shallow_share": 0.0} else 1]


def test_a_model_that_is_trained_further_keeps_its_layers(text, tmp_path, joined):
    """Also those beyond the default size, and of a finished run that is made longer."""
    finish(growing(text, steps=2, shallow_share=0.0), tmp_path / "first")
    before = copy.deepcopy(weights(tmp_path / "first" / "model"))
    joined.clear()
    finish(
        growing(
            text, steps=1, learning_rate=1e-6, init_from=str(tmp_path / "first" / "model"), preset="tiny", layers=None
        ),
        tmp_path / "second",
    )
    after_it = weights(tmp_path / "second" / "model")
    assert joined == [4]
    assert all(torch.allclose(before[name], after_it[name], atol=1e-4) for name in before)


def test_a_finished_run_that_is_made_longer_goes_on_with_all_layers(text, tmp_path, joined):
    finish(growing(text), tmp_path)
    joined.clear()
    finish(growing(text, steps=40), tmp_path, resume=True)
    assert joined == [4]
