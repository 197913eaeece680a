"""Going on from a model that knows a language already."""

import pytest
import torch

from bertviz_lab.config import PretrainConfig
from bertviz_lab.errors import InputError
from bertviz_lab.model import BertForPreTraining
from bertviz_lab.training.checkpoints.checkpoint import load_checkpoint, save_checkpoint
from bertviz_lab.training.runs.events import EvalDone, StepDone
from tests.model.support import MASKED_LM
from tests.training.support import after, checkpoint_of, finish, identical, short_run, started, weights


def test_it_keeps_tokenizer_shape_and_weights_and_measures_before_and_after(text, tmp_path):
    finish(short_run(text, vocab_size=90), tmp_path / "first")
    source = tmp_path / "first" / "model"
    events = finish(short_run(text, init_from=str(source), preset="mini", steps=3), tmp_path / "second")
    scores = [event for event in events if isinstance(event, EvalDone)]
    assert [scores[0].step, scores[-1].step] == [0, 3]
    assert scores[0].metrics["mlm_loss"] != scores[-1].metrics["mlm_loss"]
    found = load_checkpoint(tmp_path / "second" / "model")
    given = load_checkpoint(source)
    assert found.tokenizer.fingerprint == given.tokenizer.fingerprint
    assert (found.config.hidden_size, found.config.vocab_size) == (given.config.hidden_size, given.config.vocab_size)
    assert not identical(weights(source), weights(tmp_path / "second" / "model"))
    assert any("Continues pretraining first," in note for note in started(events).notes)
    assert "continued from first" in found.card
    assert "--init-from first" in found.card
    assert str(tmp_path) not in found.card, "where a person keeps files is nobody's business"
    assert not any("causal_loss" in e.metrics for e in events if isinstance(e, StepDone))


def test_no_step_leaves_the_weights_as_they_were(text, tmp_path):
    finish(short_run(text), tmp_path / "first")
    source = tmp_path / "first" / "model"
    finish(short_run(text, init_from=str(source)), tmp_path / "second", should_stop=lambda: True)
    assert identical(weights(source), weights(tmp_path / "second" / "model"))


def test_a_missing_next_sentence_head_starts_at_random(text, tmp_path, tokenizer):
    source = save_checkpoint(checkpoint_of(MASKED_LM, tokenizer), tmp_path / "masked")
    finish(short_run(text, init_from=str(source), seq_len=16, steps=2), tmp_path / "run")
    model = load_checkpoint(tmp_path / "run" / "model").model
    assert isinstance(model, BertForPreTraining)
    assert all(torch.isfinite(p).all() for p in model.parameters())


def test_a_run_from_a_model_is_gone_on_with_from_its_own_checkpoint(text, tmp_path):
    finish(short_run(text), tmp_path / "first")
    config = short_run(text, init_from=str(tmp_path / "first" / "model"), dropout=0.1)
    finish(config, tmp_path / "whole")
    finish(config, tmp_path / "halves", should_stop=after(6))
    events = finish(config, tmp_path / "halves", resume=True)
    assert started(events).step == 6
    assert identical(weights(tmp_path / "whole" / "model"), weights(tmp_path / "halves" / "model"))


def test_what_does_not_fit_is_refused_before_anything_is_trained(text, tmp_path, tokenizer):
    source = save_checkpoint(checkpoint_of(MASKED_LM, tokenizer), tmp_path / "masked")
    with pytest.raises(InputError, match="reads at most 19 tokens; lower --seq-len"):
        finish(short_run(text, init_from=str(source), seq_len=64), tmp_path / "run")
    with pytest.raises(InputError, match="brings its model's tokenizer"):
        PretrainConfig(corpus=("a",), init_from="x", tokenizer="y")
    with pytest.raises(InputError, match="no model folder"):
        finish(short_run(text, init_from=str(tmp_path / "none" / "such" / "model")), tmp_path / "other")
