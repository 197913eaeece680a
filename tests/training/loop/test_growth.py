"""Progressive stacking: layers that have not joined add nothing, cost nothing and are not trained."""

import json
import math
from pathlib import Path

import pytest
import torch
from torch import nn

from bertviz_lab.config import PretrainConfig
from bertviz_lab.errors import InputError
from bertviz_lab.model import BertForMaskedLM, BertForPreTraining, BertForSequenceClassification
from bertviz_lab.model.encoder import Encoder, EncoderLayer
from bertviz_lab.training.checkpoints.checkpoint import load_checkpoint
from bertviz_lab.training.loop.growth import ProgressiveStacking, continued, extend_positions, widened
from bertviz_lab.training.loop.optim import ablate_embeddings
from bertviz_lab.training.runs.events import EvalDone, format_event
from bertviz_lab.training.runs.snapshot_reader import open_snapshots
from tests.family_checkpoints import family_checkpoint
from tests.little import little_checkpoint
from tests.model.support import MASKED_LM, build, largest_difference, small_config
from tests.training.support import (
    after,
    finish,
    identical,
    record_extensions,
    resumes_exactly,
    short_run,
    started,
    weights,
)

IDS, MASKED = torch.arange(5, 17).view(1, -1), torch.tensor([[2, 5]])


def layers_of(model: nn.Module) -> list[EncoderLayer]:
    (encoder,) = (module for module in model.modules() if isinstance(module, Encoder))
    return [layer for layer in encoder.layers if isinstance(layer, EncoderLayer)]


def logits(model: nn.Module, ids: torch.Tensor, **given) -> torch.Tensor:
    return model(ids % model.config.vocab_size, **given).logits


@pytest.mark.parametrize("model_type", ["bert", "roberta", "deberta-v2", "modernbert", "mpnet"])
def test_leaving_out_what_adds_nothing_changes_nothing(model_type, tmp_path):
    if model_type == "bert":
        model = build(MASKED_LM)
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
    model = build(MASKED_LM, small_config(hidden_dropout_prob=0.0))
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
    model = build(MASKED_LM)
    stacking = ProgressiveStacking(model, 0.9, lambda: 0.0, is_new=True)
    with torch.no_grad():
        layers_of(model)[1].output.bias.add_(1)
    assert stacking.is_growing
    ProgressiveStacking(model, 0.9, lambda: 0.0, is_new=False)
    assert [layer.is_idle for layer in layers_of(model)] == [False, False, True]


def growing(text: Path, **changes):
    options = {"preset": "mini", "layers": 4, "shallow_share": 0.6, "causal_share": 0.0, "short_share": 0.0}
    return short_run(text, **options | {"steps": 10} | changes)


def test_a_run_that_is_resumed_in_any_phase_ends_bit_for_bit_as_in_one_go(text, tmp_path):
    assert finish(growing(text), tmp_path / "whole")[-1].message == ""
    whole = weights(tmp_path / "whole" / "model")
    for stopped_after, idle in ((2, "Layers 2, 3 and 4"), (6, "Layers 3 and 4"), (8, "")):
        parts = tmp_path / str(stopped_after)
        stopped = finish(growing(text), parts, after(stopped_after))[-1]
        assert stopped.message.startswith(f"{idle} have not joined the training") if idle else not stopped.message
        assert format_event(stopped).endswith(stopped.message or "steps")
        assert json.loads((parts / "report.json").read_text())["step"] < 10
        finish(growing(text), parts, resume=True)
        assert identical(whole, weights(parts / "model"))


IDS = torch.randint(5, 60, (3, 12), generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("factor", [2, 3])
@pytest.mark.parametrize("kind", [BertForPreTraining, BertForMaskedLM, BertForSequenceClassification])
@torch.no_grad()
def test_a_wider_model_has_the_same_predictions_and_attention(kind: type, factor: int) -> None:
    narrow = little_checkpoint(kind=kind).model
    for parameter in narrow.parameters():  # no zeros and ones, which would hide a mistake
        parameter.add_(torch.randn(parameter.shape, generator=torch.Generator().manual_seed(len(parameter))) * 0.2)
    wide = widened(narrow, factor)
    before, after = (found.eval()(IDS, output_trace=True) for found in (narrow, wide))
    for name in ("logits", "prediction_logits", "seq_relationship_logits"):
        if hasattr(before, name):
            torch.testing.assert_close(getattr(after, name), getattr(before, name), atol=2e-5, rtol=1e-4)
    for one, other in zip(before.trace, after.trace, strict=True):
        copies = one.attention_probs.repeat(1, factor, 1, 1)
        torch.testing.assert_close(other.attention_probs, copies, atol=1e-5, rtol=1e-4)
    assert wide.config.hidden_size == factor * narrow.config.hidden_size
    assert wide.config.head_size == narrow.config.head_size


def test_the_copies_of_a_unit_come_apart() -> None:
    wide = widened(little_checkpoint(kind=BertForPreTraining).model, 2).train()
    optimizer = torch.optim.SGD(wide.parameters(), lr=0.1)
    for _ in range(2):
        wide(IDS, labels=IDS).loss.backward()
        optimizer.step()
    for name, parameter in wide.named_parameters():
        if name.startswith("bert.encoder") and name.endswith("weight"):
            one, other = parameter.detach().chunk(2)
            assert not torch.allclose(one, other, atol=1e-7), name


def test_only_a_bert_that_is_trained_further_is_made_wider(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Only a BERT can be made wider"):
        widened(family_checkpoint("roberta", tmp_path).model, 2)
    with pytest.raises(InputError, match="`init_from`"):
        PretrainConfig(corpus=("text",), width_factor=2)


@pytest.mark.training
def test_a_run_goes_on_where_the_narrow_model_ended_and_is_resumed_with_its_own_weights(text, tmp_path) -> None:
    events = finish(short_run(text, steps=40), tmp_path / "narrow")
    ended = [event for event in events if isinstance(event, EvalDone)][-1]
    config = short_run(text, init_from=str(tmp_path / "narrow/model"), width_factor=2)
    assert resumes_exactly(config, tmp_path)
    events = finish(config, tmp_path / "again", should_stop=after(0))
    began = next(event for event in events if isinstance(event, EvalDone))
    assert {name: began.metrics[name] for name in ended.metrics} == pytest.approx(ended.metrics, rel=1e-4)
    assert any("2 times as wide" in note for note in started(events).notes)
    trained = load_checkpoint(tmp_path / "whole/model")
    assert trained.config.hidden_size == 2 * load_checkpoint(tmp_path / "narrow/model").config.hidden_size
    assert "made 2 times as wide" in trained.card


def waves(positions: int, hidden: int, seed: int = 0) -> torch.Tensor:
    """Vectors (positions, hidden) that are sums of two waves, in a random basis, about a mean."""
    generator = torch.Generator().manual_seed(seed)
    angles = torch.arange(positions)[:, None] * torch.tensor([0.1, 0.5])
    basis, _ = torch.linalg.qr(torch.randn(hidden, 4, generator=generator, dtype=torch.float64))
    return torch.cat([angles.sin(), angles.cos()], 1).double() @ basis.T + torch.randn(hidden, generator=generator)


def test_waves_go_on() -> None:
    whole, known = waves(512, 32), 128
    further = continued(whole[:known], 512 - known)
    off = (further - whole[known:]).norm(dim=1) / (whole - whole.mean(0)).norm(dim=1).mean()
    assert off[:64].max() < 0.35, "the first of them almost exactly"
    steps = [(part[1:] - part[:-1]).norm(dim=1).mean() for part in (whole[:known], further)]
    assert math.isclose(*steps, rel_tol=0.1), "neighbours are as far from each other as before"


@pytest.mark.parametrize(("model_type", "first"), [("electra", 24), ("roberta", 26)])  # which counts from row 2 on
def test_only_positions_beyond_the_trained_ones_change(model_type: str, first: int, tmp_path: Path) -> None:
    table = (model := family_checkpoint(model_type, tmp_path).model).bert.embeddings.position
    before = table.weight.clone()
    assert extend_positions(model, 24, 48)
    changed = (before != table.weight).any(1)
    assert changed.nonzero().flatten().tolist() == list(range(first, first + 24))


@pytest.mark.parametrize("case", ["too few", "ablated"])
def test_without_positions_to_go_on_from_nothing_changes(case: str) -> None:
    model = little_checkpoint(kind=BertForPreTraining).model
    ablate_embeddings(model, positions=case == "ablated")
    before = model.bert.embeddings.position.weight.clone()
    assert not extend_positions(model, 8 if case == "too few" else 24, 48)
    assert torch.equal(before, model.bert.embeddings.position.weight)


def test_a_run_on_longer_sequences_begins_with_them_and_a_resumed_one_keeps_what_it_learnt(text, tmp_path):
    finish(short_run(text), tmp_path / "first")
    source = tmp_path / "first" / "model"
    config = short_run(text, init_from=str(source), seq_len=40)
    events = finish(config, tmp_path / "whole")
    assert any("embeddings from 24 on begin as a continuation" in note for note in started(events).notes)
    first = open_snapshots(tmp_path / "whole").open(0).model.bert.embeddings.position.weight
    given = load_checkpoint(source).model.bert.embeddings.position.weight
    near = (first - given).norm(dim=1) < 1e-2 * given.norm(dim=1).mean()  # snapshots have 16 bits
    assert near.nonzero().flatten().tolist() == [*range(24), *range(40, 512)]
    finish(config, tmp_path / "halves", should_stop=after(6))
    events = finish(config, tmp_path / "halves", resume=True)
    assert not any("continuation" in note for note in started(events).notes)
    assert identical(weights(tmp_path / "whole" / "model"), weights(tmp_path / "halves" / "model"))


def test_positions_that_short_sequences_do_not_train_begin_with_them_when_the_sequences_become_longer(
    text, tmp_path, monkeypatch
):
    config = short_run(text, short_seq_len=16, short_share=0.5, seq_len=32)
    extensions = record_extensions(monkeypatch)
    assert resumes_exactly(config, tmp_path, steps=9)
    assert {(known, length) for known, length, _ in extensions} == {(16, 32)}
    assert set().union(*(changed for _, _, changed in extensions)) == set(range(16, 32))
