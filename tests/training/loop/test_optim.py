"""Which parameters decay, which rule updates them, and the learning rate over a run."""

from itertools import pairwise

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from bertviz_lab.config import BertConfig, FinetuneConfig, PretrainConfig
from bertviz_lab.errors import InputError
from bertviz_lab.model.layers import Embedding, LayerNorm, Linear
from bertviz_lab.training.loop.optim import (
    MUON_FACTOR,
    Muon,
    build_finetuning_optimizer,
    build_optimizers,
    default_learning_rate,
    lr_schedule,
    orthogonalized,
    parameter_groups,
    set_learning_rate,
)
from bertviz_lab.training.loop.training_run import load_optimizers, optimizer_tensors
from tests.model.support import (
    MODEL,
    PRETRAINING,
    QUESTION,
    SEQUENCE,
    TOKENS,
    build,
    every_kind,
    inputs,
    labels_for,
    same_weights,
)


def settings(**changes) -> PretrainConfig:
    return PretrainConfig(**({"corpus": ("a",), "optimizer": "adamw"} | changes))


def names_in(model: torch.nn.Module, parameters) -> set[str]:
    wanted = {id(p) for p in parameters}
    return {name for name, p in model.named_parameters() if id(p) in wanted}


@every_kind
def test_matrices_and_tables_decay_and_biases_and_layer_norms_do_not(kind):
    model = build(kind)
    decayed, plain = parameter_groups(model, 0.01)
    assert (decayed["weight_decay"], plain["weight_decay"]) == (0.01, 0.0)
    owners = {id(p): m for m in model.modules() for p in m.parameters(recurse=False)}
    for parameter in decayed["params"]:
        assert parameter.ndim == 2
        assert isinstance(owners[id(parameter)], (Linear, Embedding))
    for parameter in plain["params"]:
        assert parameter.ndim == 1
    norms = {id(m.weight) for m in model.modules() if isinstance(m, LayerNorm)}
    assert norms <= {id(p) for p in plain["params"]}
    assert (
        names_in(model, decayed["params"]) | names_in(model, plain["params"]) == dict(model.named_parameters()).keys()
    )
    assert "bert.embeddings.word.weight" in names_in(model, decayed["params"]) or kind is MODEL


@pytest.mark.parametrize("optimizer", ["adamw", "muon"])
@every_kind
def test_every_parameter_is_updated_by_exactly_one_rule(optimizer, kind):
    model = build(kind)
    optimizers = build_optimizers(model, settings(optimizer=optimizer), 1e-3)
    updated = [id(p) for one in optimizers for group in one.param_groups for p in group["params"]]
    assert len(updated) == len(set(updated))
    assert set(updated) == {id(p) for p in model.parameters()}


def test_muon_takes_the_encoder_s_matrices_and_adamw_the_rest():
    model = build(PRETRAINING)
    adamw, muon = build_optimizers(model, settings(optimizer="muon", weight_decay=0.03), 1e-3)
    assert isinstance(muon, Muon)
    chosen = names_in(model, muon.param_groups[0]["params"])
    assert len(chosen) == 3 * 6
    assert all(name.startswith("bert.encoder.layers.") and name.endswith(".weight") for name in chosen)
    assert not any("norm" in name for name in chosen)
    assert {group["weight_decay"] for group in adamw.param_groups} == {0.03, 0.0}


def test_adamw_has_the_settings_that_were_asked_for():
    (adamw,) = build_optimizers(build(PRETRAINING), settings(adam_beta2=0.97, weight_decay=0.2), 3e-4)
    assert type(adamw) is torch.optim.AdamW
    for group in adamw.param_groups:
        assert group["lr"] == 3e-4
        assert group["betas"] == (0.9, 0.97)
        assert group["eps"] == 1e-6
    assert [group["weight_decay"] for group in adamw.param_groups] == [0.2, 0.0]


def test_the_rate_rises_in_a_straight_line_and_falls_in_one():
    rates = [lr_schedule(step / 100, 0.1) for step in range(101)]
    assert rates[0] == 0.0
    assert rates[5] == pytest.approx(0.5)
    assert max(rates) == rates[10] == 1.0
    assert rates[55] == pytest.approx(0.5)
    assert rates[100] == 0.0
    assert lr_schedule(1.2, 0.1) == 0.0
    changes = [after - before for before, after in pairwise(rates)]
    assert changes == pytest.approx([0.1] * 10 + [-1 / 90] * 90)
    assert lr_schedule(0.0, 0.0) == 1.0
    assert lr_schedule(0.25, 0.0) == 0.75


@pytest.mark.parametrize("shape", [(24, 24), (48, 16), (16, 48)])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_muon_is_that_of_pytorch_in_the_precision_of_the_machine(shape, dtype, monkeypatch):
    monkeypatch.setattr("bertviz_lab.training.loop.optim.cpu_multiplies_bf16", lambda: dtype == torch.bfloat16)
    torch.manual_seed(0)
    ours = nn.Parameter(torch.randn(shape))
    theirs = nn.Parameter(ours.detach().clone())
    settings = {"lr": 0.02, "weight_decay": 0.1, "ns_steps": 3}
    optimizers = Muon([ours], **settings), torch.optim.Muon([theirs], adjust_lr_fn="match_rms_adamw", **settings)
    for _ in range(3):
        ours.grad = torch.randn(shape)
        theirs.grad = ours.grad.clone()
        for optimizer in optimizers:
            optimizer.step()
    torch.testing.assert_close(ours, theirs, rtol=0, atol=0 if dtype == torch.bfloat16 else 2e-3)
    optimizers[0].load_state_dict(optimizers[1].state_dict())  # a run of an earlier version goes on


def test_muon_s_updates_of_matrices_of_one_shape_may_be_computed_together():
    matrices = torch.randn(3, 48, 16, generator=torch.Generator().manual_seed(0))
    together = orthogonalized(matrices, 3, (3.4445, -4.775, 2.0315), 1e-7)
    for matrix, update in zip(matrices, together, strict=True):
        torch.testing.assert_close(
            orthogonalized(matrix, 3, (3.4445, -4.775, 2.0315), 1e-7), update, rtol=0.02, atol=0.01
        )


def test_one_rate_is_set_for_every_parameter_and_muon_s_in_proportion():
    for name, factors in (("adamw", [1.0]), ("muon", [1.0, MUON_FACTOR])):
        optimizers = build_optimizers(build(PRETRAINING), settings(optimizer=name), 1e-3)
        for rate in (1e-3, 5e-5):
            if rate != 1e-3:
                set_learning_rate(optimizers, rate)
            for optimizer, factor in zip(optimizers, factors, strict=True):
                assert {group["lr"] for group in optimizer.param_groups} == {factor * rate}


HEADS = (SEQUENCE, TOKENS, QUESTION)


def tuning(**changes) -> FinetuneConfig:
    return FinetuneConfig(**({"train": ("a",)} | changes))


@pytest.mark.parametrize("layerwise_lr_decay", [1.0, 0.8])
@pytest.mark.parametrize("freeze", [0, 1, 3])
@pytest.mark.parametrize("kind", HEADS, ids=str)
def test_trainable_parameters_are_in_one_group_and_frozen_ones_in_none(kind, freeze, layerwise_lr_decay):
    model = build(kind)
    optimizer = build_finetuning_optimizer(
        model, tuning(freeze_layers=freeze, layerwise_lr_decay=layerwise_lr_decay), 1e-3
    )
    chosen = [id(p) for group in optimizer.param_groups for p in group["params"]]
    assert len(chosen) == len(set(chosen))
    names = names_in(model, [p for group in optimizer.param_groups for p in group["params"]])
    frozen = tuple(["bert.embeddings."] + [f"bert.encoder.layers.{n}." for n in range(freeze)]) if freeze else ()
    assert names == {name for name, _ in model.named_parameters() if not name.startswith(frozen or "-")}
    assert names == {name for name, p in model.named_parameters() if p.requires_grad}


def test_an_encoder_without_a_head_is_frozen_from_its_embeddings_on_but_not_as_a_whole():
    model = build(MODEL)
    optimizer = build_finetuning_optimizer(model, tuning(layerwise_lr_decay=0.5), 1.0)
    factors = {id(p): group["factor"] for group in optimizer.param_groups for p in group["params"]}
    layers = model.config.num_hidden_layers
    assert factors[id(model.embeddings.word.weight)] == pytest.approx(0.5 ** (layers + 1))
    frozen = build(MODEL)
    build_finetuning_optimizer(frozen, tuning(freeze_layers=1), 1.0)
    assert not any(p.requires_grad for p in frozen.embeddings.parameters())
    with pytest.raises(InputError, match="`freeze_layers=4` freezes all: the model has 3 layers"):
        build_finetuning_optimizer(build(SEQUENCE), tuning(freeze_layers=4), 1e-3)


@pytest.mark.parametrize("kind", HEADS, ids=str)
def test_each_layer_learns_slower_than_the_one_above_it_and_the_head_at_the_full_rate(kind):
    model = build(kind)
    optimizer = build_finetuning_optimizer(model, tuning(layerwise_lr_decay=0.5), 1.0)
    set_learning_rate([optimizer], 0.02)
    rates = {n: g["lr"] for g in optimizer.param_groups for n in names_in(model, g["params"])}
    below = {"bert.embeddings.": 4, **{f"bert.encoder.layers.{n}.": 3 - n for n in range(3)}}
    for name, rate in rates.items():
        depth = next((depth for start, depth in below.items() if name.startswith(start)), 0)
        assert rate == pytest.approx(0.02 * 0.5**depth), name
    decays = {n: g["weight_decay"] for g in optimizer.param_groups for n in names_in(model, g["params"])}
    assert {n for n, decay in decays.items() if decay} == {n for n, p in model.named_parameters() if p.ndim == 2}


def test_larger_models_are_fine_tuned_with_smaller_steps_and_all_with_smaller_ones_than_pretraining():
    presets = [BertConfig.preset(name) for name in ("tiny", "mini", "small", "medium", "base", "large")]
    rates = [default_learning_rate(preset, finetuning=True) for preset in presets]
    assert rates == sorted(rates, reverse=True)
    assert [default_learning_rate(preset) for preset in presets] == sorted(map(default_learning_rate, presets))[::-1]
    assert all(rate < default_learning_rate(preset) for rate, preset in zip(rates, presets, strict=True))


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
    assert same_weights(model, copy)


def test_random_generators_resume_exactly_and_those_of_a_gpu_are_left_out_on_a_cpu(tmp_path, monkeypatch):
    torch.manual_seed(4)
    torch.rand(7)
    save_file(optimizer_tensors([]), tmp_path / "optimizer.safetensors")
    expected = torch.rand(5)
    torch.manual_seed(99)
    load_optimizers([], tmp_path / "optimizer.safetensors")
    assert torch.equal(torch.rand(5), expected)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_rng_state", lambda: torch.zeros(16, dtype=torch.uint8))
    save_file(optimizer_tensors([]), tmp_path / "optimizer.safetensors")
    monkeypatch.undo()
    load_optimizers([], tmp_path / "optimizer.safetensors")
