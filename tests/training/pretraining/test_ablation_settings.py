"""Recipes with a part left out: no positions, no segments, no looking ahead, other layers and heads, other masks."""

import numpy as np
import pytest
import torch
import transformers

from bertviz_lab.config import FinetuneConfig
from bertviz_lab.data.pretraining.batches import masking_rule
from bertviz_lab.data.pretraining.tokenized_corpus import TokenizedCorpus
from bertviz_lab.interpret import fill_mask, trace_text
from bertviz_lab.model.weights import state_for_huggingface
from bertviz_lab.training.checkpoints.checkpoint import load_checkpoint
from bertviz_lab.training.loop.optim import ablate_embeddings, build_finetuning_optimizer
from bertviz_lab.training.pretraining.setup import build_data
from tests.model.support import PRETRAINING, SEQUENCE, build
from tests.training.support import checkpoint_of, finish, short_run, weights

POSITIONS = "bert.embeddings.position_embeddings.weight"
SEGMENTS = "bert.embeddings.token_type_embeddings.weight"
WITHOUT = {"position_embeddings": POSITIONS, "segment_embeddings": SEGMENTS}


@pytest.mark.parametrize(("part", "optimizer"), [*zip(WITHOUT, ["muon", "adamw"], strict=True)])
def test_a_table_that_is_left_out_is_zero_after_training_and_nothing_else_is(part, optimizer, text, tmp_path):
    finish(short_run(text, **{part: False}, optimizer=optimizer, weight_decay=0.5), tmp_path / "run")
    found = weights(tmp_path / "run" / "model")
    assert not found[WITHOUT[part]].any()
    assert all(tensor.any() for name, tensor in found.items() if name != WITHOUT[part])


def test_transformers_opens_every_one_of_them_with_the_same_answers(text, tmp_path):
    without = dict.fromkeys(("position_embeddings", "segment_embeddings", "bidirectional"), False)
    finish(short_run(text, **without, layers=1, heads=4), tmp_path / "run")
    ours = load_checkpoint(tmp_path / "run" / "model")
    theirs = transformers.AutoModelForPreTraining.from_pretrained(tmp_path / "run" / "model").eval()
    assert (ours.config.num_hidden_layers, ours.config.num_attention_heads, ours.config.is_decoder) == (1, 4, True)
    arguments = {
        "input_ids": torch.randint(ours.config.vocab_size, (3, 11), generator=torch.Generator().manual_seed(0)),
        "token_type_ids": (torch.arange(11) > 5).long().expand(3, -1),
    }
    with torch.inference_mode():
        a, b = ours.model(**arguments), theirs(**arguments)
    assert torch.allclose(a.prediction_logits, b.prediction_logits, atol=1e-5)
    assert torch.allclose(a.seq_relationship_logits, b.seq_relationship_logits, atol=1e-5)
    for words in ("it has a causal mask", "without position embeddings", "without segment embeddings"):
        assert words in ours.card
    for name in without:
        assert f"--no-{name.replace('_', '-')}" in ours.card
    assert "--layers 1 --heads 4" in ours.card


def test_a_model_that_reads_forwards_answers_without_looking_ahead(tokenizer):
    checkpoint = checkpoint_of(PRETRAINING, tokenizer, is_decoder=True)
    attentions = trace_text(checkpoint, "one two three four five").attentions
    assert np.allclose(attentions.sum(-1), 1, atol=1e-6)
    assert not np.triu(attentions, 1).any()
    one, other = (fill_mask(checkpoint, f"one two [MASK] {end}").masks[0].candidates[0] for end in ("four", "nine"))
    assert one.token == other.token
    assert one.probability == pytest.approx(other.probability, rel=1e-5)


@pytest.mark.parametrize(("split", "shares"), [("80/20/0", (0.8, 0.2)), ("100/0/0", (1.0, 0.0))])
def test_masks_are_divided_as_asked_and_scores_are_on_the_paper_s(split, shares, text, tmp_path, tokenizer):
    config = short_run(text, mask_split=split, mask_probability_to=0.9)
    finish(config, tmp_path / "run", should_stop=lambda: True)
    run = load_checkpoint(tmp_path / "run" / "model")
    corpus = TokenizedCorpus.open(tmp_path / "run" / "corpus")
    data = build_data(config, run.tokenizer, corpus)
    assert (data.training.rule.mask_share, data.training.rule.random_share) == shares
    assert (data.training.rule.probability_to, data.held_out.rule.probability_to) == (0.9, 0.0)
    assert data.held_out.rule.mask_share == masking_rule(run.tokenizer).mask_share == 0.8
    assert data.held_out.rule.random_share == 0.1


def test_a_run_that_goes_on_from_a_model_leaves_out_what_is_asked_and_what_it_lacks(text, tmp_path):
    finish(short_run(text, position_embeddings=False, bidirectional=False), tmp_path / "first")
    source = str(tmp_path / "first" / "model")
    finish(short_run(text, init_from=source, segment_embeddings=False), tmp_path / "second")
    found = weights(tmp_path / "second" / "model")
    assert not found[POSITIONS].any()
    assert not found[SEGMENTS].any()
    assert load_checkpoint(tmp_path / "second" / "model").config.is_decoder


def test_a_fine_tuning_does_not_learn_what_the_model_does_without():
    model = build(SEQUENCE)
    ablate_embeddings(model, positions=True)
    settings = FinetuneConfig(train=("sample:topics",), weight_decay=0.5)
    optimizer = build_finetuning_optimizer(model, settings, 1e-2)
    learnt = {id(p) for group in optimizer.param_groups for p in group["params"]}
    embeddings = model.bert.embeddings
    assert id(embeddings.position.weight) not in learnt
    assert id(embeddings.token_type.weight) in learnt
    assert not state_for_huggingface(model)[POSITIONS].any()
