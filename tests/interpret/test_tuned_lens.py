"""The tuned lens: the identity at first, nearer to the model's output after its fit, exact where an affine map is."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from bertviz_lab import BertModel, Checkpoint, InputError, interpret, load_checkpoint
from bertviz_lab.config.limits import QuestionLimits
from bertviz_lab.interpret import TunedLens, fit_tuned_lens
from bertviz_lab.training.runs.training_text import read_training_text
from tests.little import SENTENCES, little_checkpoint
from tests.model.support import random_checkpoint

TEXT = "the red [MASK] sat on the mat"
TOWN = Path(__file__).parents[2] / "checkpoints" / "tiny-town"


def sentences_of(checkpoint: Checkpoint, times: int = 20) -> list[np.ndarray]:
    return [np.array(ids) for ids in checkpoint.tokenizer.ids([*SENTENCES] * times)]


def same(first: interpret.LogitLens, second: interpret.LogitLens, layers: slice) -> bool:
    pairs = zip(first.layers[layers], second.layers[layers], strict=True)
    return all(one.probability == other.probability and one.rank == other.rank for one, other in pairs)


def test_before_its_fit_the_tuned_lens_is_the_logit_lens() -> None:
    checkpoint = random_checkpoint()
    tuned = interpret.logit_lens(checkpoint, TEXT, tuned=TunedLens.identity(checkpoint))
    assert tuned.is_tuned
    assert same(tuned, interpret.logit_lens(checkpoint, TEXT), slice(None))


def test_on_a_shipped_model_the_divergence_falls_in_every_layer_and_the_last_is_as_it_was() -> None:
    town = load_checkpoint(TOWN)
    shares: list[float] = []
    text = read_training_text(TOWN, town.tokenizer)
    lens = fit_tuned_lens(town, text.sentences, positions=3000, held_out=500, steps=60, on_progress=shares.append)
    assert lens.fit is not None
    assert (lens.fit.positions, lens.fit.held_out) == (3000, 500)
    assert len(lens.fit.tuned_lens) == town.config.num_hidden_layers
    for before, after in zip(lens.fit.logit_lens, lens.fit.tuned_lens, strict=True):
        assert after < 0.8 * before
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1)
    asked = "Ben gets the [MASK] from the shed."
    tuned, plain = interpret.logit_lens(town, asked, tuned=lens), interpret.logit_lens(town, asked)
    assert same(tuned, plain, slice(-1, None))
    assert not same(tuned, plain, slice(0, -1))


def test_where_the_last_layer_is_an_affine_map_the_lens_finds_it() -> None:
    """No sub-layer adds anything, and the last LayerNorm scales, flips and shifts what is normalized already."""
    checkpoint = random_checkpoint()
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for layer in checkpoint.model.bert.encoder.layers:
            for linear in (layer.attention.output, layer.output):
                linear.weight.zero_()
                linear.bias.zero_()
            for norm in (layer.attention_norm, layer.output_norm):
                norm.weight.fill_(1)
                norm.bias.zero_()
        last = checkpoint.model.bert.encoder.layers[-1].output_norm
        last.weight.copy_(torch.randn(last.weight.shape, generator=generator))
        last.bias.copy_(torch.randn(last.bias.shape, generator=generator))
    lens = fit_tuned_lens(checkpoint, sentences_of(checkpoint, 100), positions=500, held_out=100, steps=600)
    assert lens.fit is not None
    assert lens.fit.logit_lens[1] > 0.1
    assert lens.fit.tuned_lens[1] < 0.1 * lens.fit.logit_lens[1]


def test_a_lens_is_kept_with_its_model_and_refused_for_another(tmp_path: Path) -> None:
    checkpoint = random_checkpoint()
    lens = fit_tuned_lens(checkpoint, sentences_of(checkpoint), positions=100, held_out=20, steps=5)
    lens.save(tmp_path)
    loaded = TunedLens.load(tmp_path, checkpoint)
    assert loaded is not None
    assert loaded.fit == lens.fit
    assert torch.allclose(loaded.weights, lens.weights, atol=1e-3)
    other = random_checkpoint(3)
    assert TunedLens.load(tmp_path, other) is None
    assert TunedLens.load(tmp_path / "elsewhere", checkpoint) is None
    with pytest.raises(InputError, match="fitted for another model"):
        interpret.logit_lens(other, TEXT, tuned=lens)
    about = tmp_path / "tuned_lens" / "about.json"
    about.write_text(json.dumps(json.loads(about.read_text()) | {"fit": {"seconds": 1}}))
    assert TunedLens.load(tmp_path, checkpoint) is None


def test_what_cannot_be_fitted_is_one_sentence() -> None:
    checkpoint = random_checkpoint()
    with pytest.raises(InputError, match="at least nine masked tokens"):
        fit_tuned_lens(checkpoint, sentences_of(checkpoint)[:2])
    with pytest.raises(InputError, match="choose a smaller model, or one that ships with its lens"):
        fit_tuned_lens(replace(checkpoint, limits=QuestionLimits(operations=1e6)), sentences_of(checkpoint))
    encoder = little_checkpoint(kind=BertModel)
    with pytest.raises(InputError, match="no masked-LM head"):
        fit_tuned_lens(encoder, sentences_of(encoder))
