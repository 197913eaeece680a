"""Layers: attention and its masks, initial weights, activations, 8 bits."""

import copy
import dataclasses
import math

import pytest
import torch
from transformers.activations import ACT2FN

from bertviz_lab import interpret, load_checkpoint
from bertviz_lab.config import ACTIVATIONS, BertConfig
from bertviz_lab.model import BertForPreTraining
from bertviz_lab.model.attention import extended_attention_mask
from bertviz_lab.model.layers import ACTIVATION_FUNCTIONS, Embedding, LayerNorm, Linear
from tests.model.support import (
    LENGTH,
    MASKED_LM,
    MODEL,
    PRETRAINING,
    as_huggingface,
    build,
    gradients,
    inputs,
    labels_for,
    largest_difference,
    small_config,
)

LAYERS, HEADS = 3, 4


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("with_head_mask", [False, True])
@pytest.mark.parametrize("padded", [False, True])
def test_fused_and_explicit_attention_are_equal_in_outputs_and_gradients(causal, with_head_mask, padded):
    model = build(PRETRAINING)
    head_mask = torch.linspace(0, 2, LAYERS * HEADS).reshape(LAYERS, HEADS) if with_head_mask else None
    arguments = inputs(padded=padded) | labels_for(PRETRAINING) | {"causal": causal, "head_mask": head_mask}
    results = []
    for explicit in (True, False):
        out = model(**arguments, explicit=explicit)
        results.append((out, gradients(model, out.loss)))
    (a, grads_a), (b, grads_b) = results
    assert largest_difference(a.prediction_logits, b.prediction_logits) < 1e-5
    assert largest_difference(a.seq_relationship_logits, b.seq_relationship_logits) < 1e-5
    assert max(largest_difference(grads_a[name], grads_b[name]) for name in grads_a) < 1e-5


def test_the_mask_may_be_boolean_or_of_numbers():
    model = build(MODEL)
    given = inputs()
    expected = model(**given).last_hidden_state
    for dtype in (torch.bool, torch.float32, torch.int32):
        given["attention_mask"] = given["attention_mask"].to(dtype)
        assert torch.equal(model(**given).last_hidden_state, expected)


def test_the_attention_mask_joins_padding_and_causality():
    mask = torch.tensor([[1, 1, 0]])
    device = torch.device("cpu")
    assert extended_attention_mask(None, 3, False, device) is None
    assert extended_attention_mask(mask, 3, False, device).squeeze().tolist() == [True, True, False]
    triangle = [[True, False, False], [True, True, False], [True, True, True]]
    assert extended_attention_mask(None, 3, True, device).squeeze().tolist() == triangle
    both = [[True, False, False], [True, True, False], [True, True, False]]
    assert extended_attention_mask(mask, 3, True, device).squeeze().tolist() == both


@pytest.mark.parametrize("explicit", [True, False], ids=["explicit", "fused"])
def test_masking_a_head_is_zeroing_the_columns_of_the_output_matrix_that_read_it(explicit):
    layer, head, size = 1, 2, 6
    model, cut = build(MASKED_LM), build(MASKED_LM)
    with torch.no_grad():  # the columns of the output matrix that read this head
        cut.bert.encoder.layers[layer].attention.output.weight[:, head * size : (head + 1) * size] = 0
    head_mask = torch.ones(LAYERS, HEADS)
    head_mask[layer, head] = 0
    masked = model(**inputs(), head_mask=head_mask, explicit=explicit).logits
    assert largest_difference(masked, cut(**inputs()).logits) < 1e-5
    assert largest_difference(masked, model(**inputs()).logits) > 1e-3


def test_the_stages_of_a_trace_follow_from_each_other():
    model = build(MODEL)
    head_mask = torch.linspace(0.5, 1.5, LAYERS * HEADS).reshape(LAYERS, HEADS)
    given = inputs()
    out = model(**given, output_trace=True, output_hidden_states=True, head_mask=head_mask)
    visible = given["attention_mask"].bool()[:, None, None, :].expand(-1, HEADS, LENGTH, -1)
    for index, (stage, layer) in enumerate(zip(out.trace, model.encoder.layers, strict=True)):
        before = out.hidden_states[index]
        assert torch.equal(stage.query_states.transpose(1, 2).flatten(2), layer.attention.query(before))
        scores = stage.query_states @ stage.key_states.transpose(-1, -2) / math.sqrt(6)
        assert largest_difference(scores[visible], stage.attention_scores[visible]) < 1e-6
        assert largest_difference(stage.attention_scores.softmax(-1), stage.attention_probs) < 1e-6
        context = stage.attention_probs @ stage.value_states * head_mask[index][:, None, None]
        assert largest_difference(context, stage.context) < 1e-6
        mixed = layer.attention.output(stage.context.transpose(1, 2).flatten(2))
        assert largest_difference(mixed, stage.attention_projection) < 1e-6
        attended = layer.attention_norm(before + stage.attention_projection)
        assert largest_difference(attended, stage.attention_output) < 1e-6
        assert stage.intermediate_output.shape == (3, LENGTH, 40)
        last = layer.output_norm(stage.attention_output + layer.output(stage.intermediate_output))
        assert largest_difference(last, stage.layer_output) < 1e-6
        assert stage.layer_output is out.hidden_states[index + 1]


def test_nothing_of_a_trace_stays_on_the_model():
    model = build(MODEL)
    before = {name: set(vars(module)) for name, module in model.named_modules()}
    model(**inputs(), output_trace=True, output_attentions=True)
    assert {name: set(vars(module)) for name, module in model.named_modules()} == before
    assert model(**inputs()).trace is None


def test_attention_dropout_acts_in_training_only():
    config = small_config(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.5)
    for explicit in (True, False):
        model = build(MODEL, config)
        assert torch.equal(*(model(**inputs(), explicit=explicit).last_hidden_state for _ in range(2)))
        model.train()
        a, b = (model(**inputs(), explicit=explicit).last_hidden_state for _ in range(2))
        assert largest_difference(a, b) > 1e-3


@pytest.mark.parametrize("explicit", [True, False], ids=["explicit", "fused"])
@pytest.mark.parametrize("kind", [MODEL, PRETRAINING], ids=str)
def test_a_mask_per_query_is_that_of_transformers(kind, explicit):
    model = build(kind)
    generator = torch.Generator().manual_seed(3)
    mask_BLL = (torch.rand(3, LENGTH, LENGTH, generator=generator) < 0.5) | torch.eye(LENGTH, dtype=torch.bool)
    ids = inputs()["input_ids"]
    # Version 5 of transformers has left the 3-D form to the caller, who adds what version 4 made of it to the scores.
    added = torch.zeros(3, 1, LENGTH, LENGTH).masked_fill(~mask_BLL[:, None], torch.finfo(torch.float32).min)
    theirs = as_huggingface(kind, model)(ids, attention_mask=added)
    ours = model(ids, attention_mask=mask_BLL.long(), explicit=explicit)
    for name in kind.outputs:
        assert largest_difference(getattr(ours, name), getattr(theirs, name)) < 1e-5
        assert largest_difference(getattr(ours, name), getattr(model(ids), name)) > 1e-3


def test_a_mask_per_query_is_restricted_to_the_masked_positions():
    model = build(PRETRAINING)
    triangle = torch.ones(LENGTH, LENGTH).tril().expand(3, -1, -1)
    positions = torch.tensor([[1, 4], [2, 9], [3, 0]])
    ids = inputs()["input_ids"]
    some = model(ids, attention_mask=triangle, masked_positions=positions).prediction_logits
    whole = model(ids, causal=True).prediction_logits
    assert largest_difference(some, torch.stack([whole[row, positions[row]] for row in range(3)])) < 1e-5


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
