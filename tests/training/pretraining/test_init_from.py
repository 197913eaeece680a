"""Going on from a model that knows a language already."""

import numpy as np
import pytest
import torch

from bertviz_lab.config import PretrainConfig
from bertviz_lab.errors import InputError
from bertviz_lab.model import BertForMaskedLM, BertForPreTraining
from bertviz_lab.training.checkpoints.checkpoint import load_checkpoint, save_checkpoint
from bertviz_lab.training.pretraining.setup import begin_with_frequencies
from bertviz_lab.training.runs.events import EvalDone, StepDone
from tests.little import little_checkpoint
from tests.model.support import MASKED_LM
from tests.training.support import checkpoint_of, finish, identical, resumes_exactly, short_run, started, weights


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


def test_a_run_from_a_model_is_gone_on_with_from_its_own_checkpoint(text, tmp_path):
    finish(short_run(text), tmp_path / "first")
    config = short_run(text, init_from=str(tmp_path / "first" / "model"), dropout=0.1)
    assert resumes_exactly(config, tmp_path, steps=6)


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


def test_a_run_from_a_model_keeps_the_biases_that_it_has_learnt(text, tmp_path) -> None:
    finish(short_run(text, steps=1, unigram_bias=False), tmp_path / "first")
    source = tmp_path / "first" / "model"
    finish(short_run(text, steps=1, learning_rate=1e-7, init_from=str(source)), tmp_path / "further")
    trained, further = (load_checkpoint(folder).model.mlm.bias for folder in (source, tmp_path / "further" / "model"))
    assert torch.allclose(trained, further, atol=1e-6)
