"""Initial values, activations, and the three kinds of parameters."""

import math

import pytest
import torch
from transformers.activations import ACT2FN

from bertviz_lab.config import ACTIVATIONS, BertConfig
from bertviz_lab.model import BertForPreTraining
from bertviz_lab.model.layers import ACTIVATION_FUNCTIONS, Embedding, LayerNorm, Linear
from tests.model.support import small_config

CONFIG = BertConfig.preset("tiny", vocab_size=2_000)


@pytest.fixture(scope="module")
def fresh() -> BertForPreTraining:
    return BertForPreTraining(CONFIG, generator=torch.Generator().manual_seed(0)).eval()


def test_weights_start_normal_and_cut_at_two_sigma(fresh):
    tables = [m.weight for m in fresh.modules() if isinstance(m, (Linear, Embedding))]
    assert len(tables) == 3 + 2 * 6 + 1 + 1 + 1  # embeddings, layers, pooler, masked words, next sentence
    # A normal cut at two sigma has 0.8796 of the deviation.
    for table in tables:
        assert float(table.detach().abs().max()) <= 0.04
    values = torch.cat([table.detach().flatten() for table in tables])
    assert float(values.abs().max()) > 0.0399
    assert float(values.std()) == pytest.approx(0.02 * 0.8796, rel=0.01)
    assert abs(float(values.mean())) < 1e-4


def test_biases_start_at_zero_and_scales_at_one(fresh):
    norms = [m for m in fresh.modules() if isinstance(m, LayerNorm)]
    assert len(norms) == 1 + 2 * 2 + 1
    assert all(bool((norm.weight == 1).all()) for norm in norms)
    biases = [p for name, p in fresh.named_parameters() if name.endswith("bias")]
    assert all(bool((bias == 0).all()) for bias in biases)


def test_the_same_seed_gives_the_same_weights_and_another_seed_others():
    def weights(seed: int) -> torch.Tensor:
        model = BertForPreTraining(small_config(), generator=torch.Generator().manual_seed(seed))
        return torch.cat([p.detach().flatten() for p in model.parameters()])

    assert torch.equal(weights(1), weights(1))
    assert not torch.equal(weights(1), weights(2))


def test_an_untrained_model_guesses_evenly(fresh):
    generator = torch.Generator().manual_seed(1)
    ids = torch.randint(5, 2_000, (16, 32), generator=generator)
    out = fresh(ids, labels=ids, next_sentence_label=torch.arange(16) % 2)
    assert float(out.mlm_loss.detach()) == pytest.approx(math.log(2_000), rel=0.01)
    assert float(out.nsp_loss.detach()) == pytest.approx(math.log(2), rel=0.02)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_every_activation_is_that_of_transformers(name):
    x = torch.linspace(-12, 12, 241)
    torch.testing.assert_close(ACTIVATION_FUNCTIONS[name](x), ACT2FN[name](x), rtol=0, atol=1e-5)


def test_the_configuration_accepts_the_activations_of_transformers_for_which_there_is_a_function():
    assert set(ACTIVATIONS) == set(ACTIVATION_FUNCTIONS)
    assert set(ACT2FN) - set(ACTIVATIONS) == {"prelu", "xielu", "laplace", "linear", "sqrtsoftplus"}


def test_building_a_model_leaves_the_global_random_stream_alone():
    torch.manual_seed(7)
    before = torch.get_rng_state()
    BertForPreTraining(small_config(), generator=torch.Generator().manual_seed(0))
    assert torch.equal(torch.get_rng_state(), before)
