"""ELECTRA's objective: the losses of transformers, what is shared, exact resume, and the two folders it leaves."""

from dataclasses import replace

import pytest
import torch
from transformers import AutoModelForMaskedLM, AutoModelForPreTraining, ElectraForMaskedLM, ElectraForPreTraining

from bertviz_lab import BertConfig, load_checkpoint
from bertviz_lab.config import IGNORE_INDEX, PretrainConfig
from bertviz_lab.training.checkpoints.checkpoint import Checkpoint, parameter_count, save_checkpoint
from bertviz_lab.training.pretraining.evaluate import evaluate_pretraining
from bertviz_lab.training.pretraining.replaced_tokens import (
    GENERATOR,
    RTD_WEIGHT,
    GeneratorAndDiscriminator,
    replaced_token_step,
    sample_tokens,
    with_tokens,
)
from bertviz_lab.training.pretraining.setup import estimate_memory
from bertviz_lab.training.runs.events import EvalDone, ProbesDone, StepDone
from bertviz_lab.training.runs.snapshot_reader import open_snapshots
from tests.little import little_checkpoint
from tests.training.pretraining.test_distillation import batch
from tests.training.support import CPU, after, finish, identical, short_run, started, weights

VOCABULARY = 100


def both(seed: int = 0, generator_size: float = 0.5, **changes: object) -> GeneratorAndDiscriminator:
    """Little models in evaluation mode."""
    settings = PretrainConfig(corpus=("x",), objective="rtd", preset="tiny", generator_size=generator_size)
    config = settings.model_config(VOCABULARY).replace(**changes)
    return GeneratorAndDiscriminator(config, settings.generator_config(config), seed).eval()


def rtd_run(text, **changes) -> PretrainConfig:
    return short_run(text, **({"objective": "rtd", "learning_rate": 2e-3} | changes))


def test_generator_and_discriminator_share_their_embeddings_and_nothing_else():
    model = both()
    own, theirs = dict(model.generator.named_parameters()), dict(model.discriminator.named_parameters())
    shared = {name for name in own.keys() & theirs.keys() if own[name] is theirs[name]}
    tables = {f"bert.embeddings.{table}.weight" for table in ("word", "position", "token_type", "norm")}
    assert shared == tables | {"bert.embeddings.norm.bias"}
    alone = parameter_count(model.generator) + parameter_count(model.discriminator)
    assert parameter_count(model) == alone - sum(own[name].numel() for name in shared)


@pytest.mark.parametrize(
    ("preset", "size", "expected"),
    [
        ("mini", 0.25, (64, 1, 256)),
        ("base", 0.25, (192, 3, 768)),
        ("base", 1.0, (768, 12, 3072)),
        ("tiny", 0.05, (16, 1, 64)),
    ],
)
def test_the_generator_is_a_fraction_as_wide_with_whole_heads_on_the_same_embeddings(preset, size, expected):
    settings = PretrainConfig(corpus=("x",), objective="rtd", preset=preset, generator_size=size)
    model = settings.model_config(500)
    generator = settings.generator_config(model)
    assert (generator.hidden_size, generator.num_attention_heads, generator.intermediate_size) == expected
    assert generator.num_hidden_layers == model.num_hidden_layers
    assert (generator.embedding_size or generator.hidden_size) == (model.embedding_size or model.hidden_size)


def test_losses_and_gradients_are_those_of_transformers(tmp_path):
    model, given = both(seed=3), batch(VOCABULARY)
    tokenizer = little_checkpoint().tokenizer
    folders = {"discriminator": model.discriminator, "generator": model.generator}
    for name, part in folders.items():
        save_checkpoint(Checkpoint(part, tokenizer, part.config), tmp_path / name)
    detector = ElectraForPreTraining.from_pretrained(tmp_path / "discriminator").eval()
    filler = ElectraForMaskedLM.from_pretrained(tmp_path / "generator").eval()

    out = model(given)
    step = replaced_token_step(model, given, measure=True)
    step.loss.backward()

    inputs = {"attention_mask": given.attention_mask, "token_type_ids": given.token_type_ids}
    labels = torch.full_like(given.input_ids, IGNORE_INDEX)
    used = given.labels != IGNORE_INDEX
    rows = torch.arange(len(labels))[:, None].expand_as(used)
    labels[rows[used], given.masked_positions[used]] = given.labels[used]
    theirs = filler(given.input_ids, labels=labels, **inputs)
    torch.testing.assert_close(step.metrics["mlm_loss"], theirs.loss, atol=1e-5, rtol=0)

    corrupted = with_tokens(given.input_ids, given, sample_tokens(out.generator_logits, given.draws))
    reference = detector(corrupted, labels=out.labels.clamp(min=0), **inputs)
    real = given.attention_mask
    torch.testing.assert_close(out.discriminator_logits[real], reference.logits[real], atol=1e-5, rtol=0)
    torch.testing.assert_close(step.metrics["rtd_loss"], reference.loss, atol=1e-5, rtol=0)
    torch.testing.assert_close(step.loss, theirs.loss + RTD_WEIGHT * reference.loss, atol=1e-4, rtol=0)

    (theirs.loss + RTD_WEIGHT * reference.loss).backward()
    table = detector.electra.embeddings.word_embeddings.weight.grad
    table = table + filler.electra.embeddings.word_embeddings.weight.grad
    own = model.discriminator.bert.embeddings.word.weight.grad
    torch.testing.assert_close(own, table, atol=1e-4, rtol=0)
    layer = model.generator.bert.encoder.layers[0].attention.query.weight.grad
    torch.testing.assert_close(
        layer, filler.electra.encoder.layer[0].attention.self.query.weight.grad, atol=1e-5, rtol=0
    )


def test_only_chosen_tokens_are_replaced_and_a_sample_of_the_original_is_no_replacement():
    model, given = both(), batch(VOCABULARY)
    out = model(given)
    replaced = out.labels == 1
    chosen = torch.zeros_like(replaced)
    used = given.labels != IGNORE_INDEX
    chosen[torch.arange(len(chosen))[:, None].expand_as(used)[used], given.masked_positions[used]] = True
    assert replaced.any()
    assert not (replaced & ~chosen).any()
    assert (out.labels[~given.attention_mask] == IGNORE_INDEX).all()
    # A generator that is certain of the originals replaces nothing.
    certain = with_tokens(given.input_ids, given, given.labels)
    assert torch.equal(certain, with_tokens(certain, given, given.labels))
    assert torch.equal(certain.gather(1, given.masked_positions)[used], given.labels[used])
    assert torch.equal(certain[:, 0], given.input_ids[:, 0]), "unused places point there"


def test_samples_come_as_often_as_the_softmax_says():
    logits = torch.tensor([0.0, 1.0, 2.0, -torch.inf]).expand(20_000, 4)
    drawn = sample_tokens(logits, torch.rand(20_000, generator=torch.Generator().manual_seed(0)))
    shares = torch.bincount(drawn, minlength=4) / len(drawn)
    torch.testing.assert_close(shares, logits[0].softmax(-1), atol=0.01, rtol=0)
    certain = torch.full((3, 7), -1e4).index_fill(1, torch.tensor([6]), 0.0)
    assert sample_tokens(certain, torch.tensor([0.0, 0.5, 0.9999999])).tolist() == [6, 6, 6]


def test_evaluation_tells_of_both_and_leaves_the_random_stream_alone():
    model, given = both(), batch(VOCABULARY)
    before = torch.get_rng_state()
    scores = evaluate_pretraining(model, [given, given], CPU)
    assert torch.equal(torch.get_rng_state(), before)
    step = replaced_token_step(model, given, measure=True)
    assert scores.keys() == {*step.metrics, "rtd_majority", "rtd_f1"}
    assert {name: scores[name] for name in step.metrics} == pytest.approx(
        {name: float(value.detach()) for name, value in step.metrics.items()}, abs=1e-6
    )
    out = model(given)
    marked, replaced = (out.discriminator_logits > 0) & given.attention_mask, out.labels == 1
    assert scores["rtd_majority"] == pytest.approx(int((out.labels == 0).sum()) / int(given.attention_mask.sum()))
    assert scores["rtd_f1"] == pytest.approx(2 * int((marked & replaced).sum()) / int(marked.sum() + replaced.sum()))


def test_a_run_learns_both_and_leaves_two_folders_that_transformers_opens(text, tmp_path):
    events = finish(rtd_run(text, steps=120, eval_every=1000.0, snapshot_room=50), tmp_path / "run")
    assert started(events).objective == "rtd"
    steps = [event.metrics for event in events if isinstance(event, StepDone)]
    assert steps[-1]["mlm_loss"] < steps[0]["mlm_loss"]
    assert steps[-1]["rtd_loss"] < steps[0]["rtd_loss"]
    assert 0 < steps[0]["rtd_accuracy"] < 1
    (scores,) = (event.metrics for event in events if isinstance(event, EvalDone))
    assert scores.keys() == {"mlm_loss", "mlm_accuracy", "rtd_loss", "rtd_accuracy", "rtd_majority", "rtd_f1"}
    assert not [event for event in events if isinstance(event, ProbesDone)]

    folder = tmp_path / "run"
    discriminator = AutoModelForPreTraining.from_pretrained(folder / "model").eval()
    generator = AutoModelForMaskedLM.from_pretrained(folder / GENERATOR).eval()
    assert isinstance(discriminator, ElectraForPreTraining)
    assert isinstance(generator, ElectraForMaskedLM)
    assert torch.equal(
        discriminator.electra.embeddings.word_embeddings.weight, generator.electra.embeddings.word_embeddings.weight
    )
    ids = torch.tensor([[2, 9, 10, 11, 3]])
    with torch.no_grad():
        for name, theirs in (("model", discriminator), (GENERATOR, generator)):
            ours = load_checkpoint(folder / name)
            torch.testing.assert_close(ours.model(ids).logits, theirs(ids).logits, atol=1e-5, rtol=0)
    card = load_checkpoint(folder / "model").card
    assert "Objective: rtd" in card
    assert "it is a discriminator" in card
    assert f"| RTD accuracy | {scores['rtd_accuracy']:.1%} |" in card
    assert open_snapshots(folder).open(0).kind == "BertForReplacedTokenDetection"


@pytest.mark.parametrize("changes", [{}, {"gradient_accumulation_steps": 2, "optimizer": "adamw"}])
def test_resume_is_exact_for_both(text, tmp_path, changes):
    run = rtd_run(text, dropout=0.1, **changes)
    finish(run, tmp_path / "whole")
    finish(run, tmp_path / "parts", after(5))
    finish(run, tmp_path / "parts", resume=True)
    for name in ("model", GENERATOR):
        assert identical(weights(tmp_path / "whole" / name), weights(tmp_path / "parts" / name))


def test_memory_counts_both_models():
    model = BertConfig.preset("mini", family="electra", vocab_size=8192)
    settings = PretrainConfig(corpus=("x",), family="electra", objective="mlm", causal_share=0.0)
    alone, together = estimate_memory(model, settings), estimate_memory(model, replace(settings, objective="rtd"))
    small = estimate_memory(model, replace(settings, objective="rtd", generator_size=0.25))
    assert alone.weights < together.weights
    assert small.total < estimate_memory(model, replace(settings, objective="rtd", generator_size=1.0)).total
