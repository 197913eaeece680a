"""Initial values, activations, the three kinds of parameters, and tools that look for torch's own layers."""

import copy
import dataclasses

import pytest
import torch
from transformers.activations import ACT2FN

from bertviz_lab import interpret, load_checkpoint
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


def test_a_seed_gives_its_weights_and_leaves_the_global_stream_alone():
    def weights(seed: int) -> torch.Tensor:
        model = BertForPreTraining(small_config(), generator=torch.Generator().manual_seed(seed))
        return torch.cat([p.detach().flatten() for p in model.parameters()])

    assert torch.equal(weights(1), weights(1))
    assert not torch.equal(weights(1), weights(2))
    torch.manual_seed(7)
    before = torch.get_rng_state()
    BertForPreTraining(small_config(), generator=torch.Generator().manual_seed(0))
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_every_activation_is_that_of_transformers(name):
    x = torch.linspace(-12, 12, 241)
    torch.testing.assert_close(ACTIVATION_FUNCTIONS[name](x), ACT2FN[name](x), rtol=0, atol=1e-5)


def test_the_configuration_accepts_the_activations_of_transformers_for_which_there_is_a_function():
    assert set(ACTIVATIONS) == set(ACTIVATION_FUNCTIONS)
    assert set(ACT2FN) - set(ACTIVATIONS) == {"prelu", "xielu", "laplace", "linear", "sqrtsoftplus"}


TEXTS = ("The capital of France is [MASK].", "She [MASK] a book about the war.", "It is the [MASK] city in the world.")


@pytest.mark.filterwarnings("ignore")  # torchao's own, of operators it was not compiled with
def test_a_shipped_model_in_8_bits_answers_nearly_the_same():
    from torchao.quantization import Int8DynamicActivationInt8WeightConfig, quantize_

    wiki_mini = load_checkpoint("wiki-mini")
    quantized = dataclasses.replace(wiki_mini, model=copy.deepcopy(wiki_mini.model))
    quantize_(quantized.model, Int8DynamicActivationInt8WeightConfig())
    linears = [module for module in quantized.model.modules() if isinstance(module, Linear)]
    assert len(linears) == 4 * 6 + 3
    assert {type(module.weight).__name__ for module in linears} == {"Int8Tensor"}
    for text in TEXTS:
        (before,) = interpret.fill_mask(wiki_mini, text, top_k=10).masks
        (after,) = interpret.fill_mask(quantized, text, top_k=10).masks
        assert {c.token for c in before.candidates[:3]} <= {c.token for c in after.candidates}
        assert after.candidates[0].probability == pytest.approx(before.candidates[0].probability, abs=0.05)
