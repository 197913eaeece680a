"""Two attentions, one truth; who sees whom; the stages on the way; and interventions."""

import math

import pytest
import torch

from bertviz_lab.model.attention import visibility
from tests.model.support import (
    KINDS,
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
@pytest.mark.parametrize("gated", [False, True])
@pytest.mark.parametrize("padded", [False, True])
def test_fused_and_explicit_attention_are_equal_in_outputs_and_gradients(causal, gated, padded):
    model = build(PRETRAINING)
    gates = torch.linspace(0, 2, LAYERS * HEADS).reshape(LAYERS, HEADS) if gated else None
    arguments = inputs(padded=padded) | labels_for(PRETRAINING) | {"causal": causal, "head_gates": gates}
    results = []
    for explicit in (True, False):
        out = model(**arguments, explicit=explicit)
        results.append((out, gradients(model, out.loss)))
    (a, grads_a), (b, grads_b) = results
    assert largest_difference(a.prediction_logits, b.prediction_logits) < 1e-5
    assert largest_difference(a.seq_relationship_logits, b.seq_relationship_logits) < 1e-5
    assert max(largest_difference(grads_a[name], grads_b[name]) for name in grads_a) < 1e-5


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_padding_changes_no_output(kind):
    model = build(kind)
    whole = inputs(padded=False)
    longer = {
        "input_ids": torch.cat([whole["input_ids"], torch.arange(24).reshape(3, 8)], 1),  # whatever padding holds
        "token_type_ids": torch.cat([whole["token_type_ids"], torch.ones(3, 8, dtype=torch.long)], 1),
        "attention_mask": torch.cat([whole["attention_mask"], torch.zeros(3, 8, dtype=torch.long)], 1),
    }
    a, b = model(**whole), model(**longer)
    for name in kind.outputs:
        mine, other = getattr(a, name), getattr(b, name)
        if mine.shape != other.shape:  # one value a token
            other = other[:, :LENGTH]
        assert largest_difference(mine, other) < 1e-5, name


def test_a_token_that_is_not_padding_does_change_the_others():
    model = build(MODEL)
    given = inputs(padded=False)
    before = model(**given).last_hidden_state
    given["input_ids"] = given["input_ids"].clone()
    given["input_ids"][:, -1] = (given["input_ids"][:, -1] + 1) % 53
    assert largest_difference(before[:, :-1], model(**given).last_hidden_state[:, :-1]) > 1e-3


def test_the_mask_may_be_boolean_or_of_numbers():
    model = build(MODEL)
    given = inputs()
    expected = model(**given).last_hidden_state
    for dtype in (torch.bool, torch.float32, torch.int32):
        given["attention_mask"] = given["attention_mask"].to(dtype)
        assert torch.equal(model(**given).last_hidden_state, expected)


def test_every_row_of_attention_sums_to_one_and_padding_gets_none():
    out = build(MODEL)(**inputs(), output_attentions=True)
    hidden = inputs()["attention_mask"] == 0
    for probs in out.attentions:
        assert probs.shape == (3, HEADS, LENGTH, LENGTH)
        torch.testing.assert_close(probs.sum(-1), torch.ones(3, HEADS, LENGTH), rtol=0, atol=1e-6)
        assert float(probs.transpose(1, 3)[hidden].detach().abs().max()) == 0.0


def test_causal_attention_is_the_lower_triangle():
    model = build(MODEL)
    given = inputs(padded=False)
    out = model(**given, causal=True, output_attentions=True)
    later = torch.ones(LENGTH, LENGTH, dtype=torch.bool).triu(1)
    assert float(out.attentions[0][..., later].detach().abs().max()) == 0.0
    # Hugging Face takes the triangle itself as a mask (batch, 1, tokens, tokens) to be added to the scores.
    added = torch.zeros(1, 1, LENGTH, LENGTH).masked_fill(later, torch.finfo(torch.float32).min)
    theirs = as_huggingface(MODEL, model)(
        given["input_ids"], attention_mask=added, token_type_ids=given["token_type_ids"]
    )
    assert largest_difference(out.last_hidden_state, theirs.last_hidden_state) < 1e-5


def test_a_causal_model_does_not_look_ahead():
    model = build(MODEL)
    given = inputs()
    before = model(**given, causal=True).last_hidden_state
    given["input_ids"] = given["input_ids"].clone()
    given["input_ids"][:, 4:] = 7
    after = model(**given, causal=True).last_hidden_state
    assert largest_difference(before[:, :4], after[:, :4]) < 1e-6
    assert largest_difference(before[:, 4:], after[:, 4:]) > 1e-3


def test_visibility_joins_padding_and_order():
    mask = torch.tensor([[1, 1, 0]])
    device = torch.device("cpu")
    assert visibility(None, 3, False, device) is None
    assert visibility(mask, 3, False, device).squeeze().tolist() == [True, True, False]
    triangle = [[True, False, False], [True, True, False], [True, True, True]]
    assert visibility(None, 3, True, device).squeeze().tolist() == triangle
    both = [[True, False, False], [True, True, False], [True, True, False]]
    assert visibility(mask, 3, True, device).squeeze().tolist() == both


@pytest.mark.parametrize("explicit", [True, False], ids=["explicit", "fused"])
def test_gates_of_one_change_nothing(explicit):
    model = build(MASKED_LM)
    gates = torch.ones(LAYERS, HEADS)
    a, b = model(**inputs(), explicit=explicit), model(**inputs(), head_gates=gates, explicit=explicit)
    assert torch.equal(a.logits, b.logits)


@pytest.mark.parametrize("explicit", [True, False], ids=["explicit", "fused"])
def test_a_gate_of_zero_is_a_head_whose_output_is_cut(explicit):
    layer, head, size = 1, 2, 6
    model, cut = build(MASKED_LM), build(MASKED_LM)
    with torch.no_grad():  # the columns of the output matrix that read this head
        cut.bert.encoder.layers[layer].attention.output.weight[:, head * size : (head + 1) * size] = 0
    gates = torch.ones(LAYERS, HEADS)
    gates[layer, head] = 0
    gated = model(**inputs(), head_gates=gates, explicit=explicit).logits
    assert largest_difference(gated, cut(**inputs()).logits) < 1e-5
    assert largest_difference(gated, model(**inputs()).logits) > 1e-3


def test_a_gate_has_a_gradient():
    model = build(MASKED_LM)
    gates = torch.ones(LAYERS, HEADS, requires_grad=True)
    model(**inputs(), **labels_for(MASKED_LM), head_gates=gates).loss.backward()
    assert bool((gates.grad.abs() > 1e-7).all())


def test_a_trace_holds_the_attentions_and_hidden_states_of_transformers():
    model = build(MODEL)
    out = model(**inputs(), output_trace=True)
    theirs = as_huggingface(MODEL, model)(**inputs(), output_attentions=True, output_hidden_states=True)
    assert len(out.trace) == LAYERS
    for layer, probs, hidden in zip(out.trace, theirs.attentions, theirs.hidden_states[1:], strict=True):
        assert largest_difference(layer.probs_BHLL, probs) < 1e-5
        assert largest_difference(layer.hidden_BLD, hidden) < 1e-5


def test_the_stages_of_a_trace_follow_from_each_other():
    model = build(MODEL)
    gates = torch.linspace(0.5, 1.5, LAYERS * HEADS).reshape(LAYERS, HEADS)
    given = inputs()
    out = model(**given, output_trace=True, output_hidden_states=True, head_gates=gates)
    visible = given["attention_mask"].bool()[:, None, None, :].expand(-1, HEADS, LENGTH, -1)
    for index, (stage, layer) in enumerate(zip(out.trace, model.encoder.layers, strict=True)):
        before = out.hidden_states[index]
        assert torch.equal(stage.q_BHLK.transpose(1, 2).flatten(2), layer.attention.query(before))
        scores = stage.q_BHLK @ stage.k_BHLK.transpose(-1, -2) / math.sqrt(6)
        assert largest_difference(scores[visible], stage.scores_BHLL[visible]) < 1e-6
        assert largest_difference(stage.scores_BHLL.softmax(-1), stage.probs_BHLL) < 1e-6
        context = stage.probs_BHLL @ stage.v_BHLK * gates[index][:, None, None]
        assert largest_difference(context, stage.context_BHLK) < 1e-6
        mixed = layer.attention.output(stage.context_BHLK.transpose(1, 2).flatten(2))
        assert largest_difference(mixed, stage.attention_output_BLD) < 1e-6
        attended = layer.attention_norm(before + stage.attention_output_BLD)
        assert largest_difference(attended, stage.attention_hidden_BLD) < 1e-6
        assert stage.intermediate_BLF.shape == (3, LENGTH, 40)
        last = layer.output_norm(stage.attention_hidden_BLD + layer.output(stage.intermediate_BLF))
        assert largest_difference(last, stage.hidden_BLD) < 1e-6
        assert stage.hidden_BLD is out.hidden_states[index + 1]


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
