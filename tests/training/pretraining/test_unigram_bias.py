"""The bias of the MLM head begins as log token frequencies: before the first step a model predicts those."""

from pathlib import Path

import numpy as np
import pytest
import torch

from bertviz_lab.config import PretrainConfig
from bertviz_lab.model import BertForMaskedLM, BertForPreTraining
from bertviz_lab.training.checkpoints.checkpoint import load_checkpoint
from bertviz_lab.training.pretraining.initial_model import begin_with_frequencies
from bertviz_lab.training.pretraining.pretrain import pretrain
from bertviz_lab.training.runs.events import EvalDone, RunStarted
from tests.little import little_checkpoint, little_text


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
