"""Going on from a model that knows a language already."""

from pathlib import Path

import numpy as np
import pytest
import torch

from bertviz_lab.config import PretrainConfig
from bertviz_lab.errors import InputError
from bertviz_lab.model import BertForMaskedLM, BertForPreTraining
from bertviz_lab.training.checkpoints.checkpoint import load_checkpoint, save_checkpoint
from bertviz_lab.training.pretraining.pretrain import pretrain
from bertviz_lab.training.pretraining.setup import begin_with_frequencies
from bertviz_lab.training.runs.events import EvalDone, RunStarted, StepDone
from tests.little import little_checkpoint, little_text
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


@pytest.mark.parametrize("kind", [BertForMaskedLM, BertForPreTraining])
def test_a_model_that_has_learnt_nothing_predicts_frequencies(kind: type) -> None:
    model = little_checkpoint(kind=kind).model.eval()
    counts = np.arange(model.config.vocab_size)
    begin_with_frequencies(model, counts)
    with torch.no_grad():
        model.bert.embeddings.word.weight.zero_()
        out = model(torch.tensor([[5, 6, 7]]))
        probabilities = (out.logits if kind is BertForMaskedLM else out.prediction_logits).softmax(-1)
    expected = torch.from_numpy(counts).clamp(min=1).float()
    assert torch.allclose(probabilities[0, 1], expected / expected.sum(), atol=1e-6)


def run(tmp_path: Path, name: str, **settings: object) -> list:
    text = tmp_path / "text.txt"
    text.write_text(little_text(200), encoding="utf-8")
    config = PretrainConfig(corpus=(str(text),), preset="tiny", vocab_size=200, seq_len=32, threads=1, **settings)
    return list(pretrain(config, tmp_path / name))


@pytest.mark.training
def test_a_new_run_begins_at_the_unigram_entropy_and_one_of_an_older_model_where_that_ended(tmp_path: Path) -> None:
    little = {"steps": 1, "learning_rate": 1e-7}
    for bias, baseline in ((True, "unigram_entropy"), (False, "mlm_loss")):
        events = run(tmp_path, f"bias-{bias}", unigram_bias=bias, **little)
        started = next(event for event in events if isinstance(event, RunStarted))
        first = next(event for event in events if isinstance(event, EvalDone))
        assert first.metrics["mlm_loss"] == pytest.approx(started.baselines[baseline], abs=0.25)
        assert started.baselines["mlm_loss"] > started.baselines["unigram_entropy"] + 0.5
    trained = load_checkpoint(tmp_path / "bias-False" / "model")
    events = run(tmp_path, "further", init_from=str(tmp_path / "bias-False" / "model"), **little)
    further = load_checkpoint(tmp_path / "further" / "model")
    assert torch.allclose(trained.model.mlm.bias, further.model.mlm.bias, atol=1e-6)


def test_runs_from_before_it_was_an_option_have_it_off() -> None:
    body = PretrainConfig(corpus=("text",)).to_dict()
    del body["unigram_bias"]
    assert not PretrainConfig.from_dict(body).unigram_bias
