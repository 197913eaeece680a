"""The lab's BERT is Hugging Face's BERT: on the same weights, the same numbers within 1e-5."""

import pytest
import torch

from bertviz_lab.model.weights import to_huggingface
from tests.model.support import (
    KINDS,
    LENGTH,
    MODEL,
    PRETRAINING,
    QUESTION,
    SEQUENCE,
    VOCAB,
    Kind,
    as_huggingface,
    build,
    gradients,
    inputs,
    labels_for,
    largest_difference,
    small_config,
    token_labels,
)

TOLERANCE = 1e-5

every_head = pytest.mark.parametrize("kind", KINDS, ids=str)
both_activations = pytest.mark.parametrize("activation", ["gelu", "gelu_new"])
both_attentions = pytest.mark.parametrize("explicit", [True, False], ids=["explicit", "fused"])


def objective(kind: Kind, out: object) -> torch.Tensor:
    """The loss, or for the bare model a sum that every parameter has a part in."""
    if kind is not MODEL:
        return out.loss
    weights = torch.linspace(-1, 1, out.last_hidden_state.shape[-1])
    return (out.last_hidden_state * weights).mean() + (out.pooler_output * weights).mean()


@every_head
@both_activations
@both_attentions
def test_outputs_losses_and_gradients_are_those_of_transformers(kind, activation, explicit):
    ours = build(kind, small_config(hidden_act=activation))
    theirs = as_huggingface(kind, ours)
    arguments = inputs() | labels_for(kind)
    a = ours(**arguments, explicit=explicit)
    b = theirs(**arguments)

    outputs = max(largest_difference(getattr(a, name), getattr(b, name)) for name in kind.outputs)
    loss = largest_difference(objective(kind, a), objective(kind, b))
    expected = gradients(theirs, objective(kind, b))
    actual = gradients(ours, objective(kind, a))
    differences = {name: largest_difference(g, expected[to_huggingface(name)]) for name, g in actual.items()}
    worst = max(differences, key=differences.get)

    assert outputs < TOLERANCE
    assert loss < TOLERANCE
    assert differences[worst] < TOLERANCE, worst
    # A softmax does not change when all its inputs shift, so these have no gradient; all others must.
    shifts = ("key.bias", "answer.bias", "layers.2.output_norm.bias") if kind is QUESTION else ("key.bias",)
    silent = [name for name, g in actual.items() if float(g.abs().max()) < 1e-6 and not name.endswith(shifts)]
    assert not silent


@every_head
def test_every_parameter_of_transformers_has_its_counterpart(kind):
    ours = build(kind)
    theirs = dict(as_huggingface(kind, ours).named_parameters(remove_duplicate=False))
    names = {to_huggingface(name) for name, _ in ours.named_parameters()}
    assert set(theirs) - names <= {"cls.predictions.decoder.weight", "cls.predictions.decoder.bias"}


@every_head
def test_hidden_states_and_attentions_are_those_of_transformers(kind):
    ours = build(kind)
    wanted = {"output_hidden_states": True, "output_attentions": True}
    a = ours(**inputs(), **wanted)
    b = as_huggingface(kind, ours)(**inputs(), **wanted)
    assert len(a.hidden_states) == len(b.hidden_states) == 4
    assert len(a.attentions) == len(b.attentions) == 3
    for mine, other in zip(a.hidden_states + a.attentions, b.hidden_states + b.attentions, strict=True):
        assert largest_difference(mine, other) < TOLERANCE
    assert a.attentions[0].std() > 0.01, "attention to everything alike proves nothing"


@every_head
def test_attention_masks_and_segments_may_be_left_out(kind):
    ours = build(kind)
    ids = inputs()["input_ids"]
    a, b = ours(ids), as_huggingface(kind, ours)(ids)
    for name in kind.outputs:
        assert largest_difference(getattr(a, name), getattr(b, name)) < TOLERANCE


@every_head
@both_attentions
def test_a_model_that_reads_forwards_only_is_that_of_transformers(kind, explicit):
    ours = build(kind, small_config(is_decoder=True))
    theirs = as_huggingface(kind, ours)
    a, b = (
        ours(**inputs(), explicit=explicit),
        theirs(**inputs(), use_cache=False) if kind is MODEL else theirs(**inputs()),
    )
    for name in kind.outputs:
        assert largest_difference(getattr(a, name), getattr(b, name)) < TOLERANCE
    both_ways = build(kind, small_config())
    assert largest_difference(getattr(both_ways(**inputs()), kind.outputs[0]), getattr(a, kind.outputs[0])) > 0.01


def test_positions_and_embeddings_may_be_given():
    ours = build(MODEL)
    theirs = as_huggingface(MODEL, ours)
    generator = torch.Generator().manual_seed(5)
    given = {
        "inputs_embeds": torch.randn(2, LENGTH, 24, generator=generator),
        "position_ids": torch.randperm(LENGTH, generator=generator)[None],
    }
    assert largest_difference(ours(**given).last_hidden_state, theirs(**given).last_hidden_state) < TOLERANCE


def test_one_half_of_the_pretraining_labels_gives_that_half_of_the_loss():
    ours = build(PRETRAINING)
    masked, order = token_labels(VOCAB), torch.tensor([0, 1, 1])
    both = ours(**inputs(), labels=masked, next_sentence_label=order)
    assert ours(**inputs(), labels=masked).loss == both.mlm_loss
    assert ours(**inputs(), next_sentence_label=order).loss == both.nsp_loss
    assert largest_difference(both.loss, both.mlm_loss + both.nsp_loss) < TOLERANCE


@pytest.mark.parametrize(
    ("classes", "problem_type", "labels"),
    [
        (3, "regression", torch.tensor([[0.5, -2.0, 3.25], [1.0, 0.0, 2.0], [0.0, 0.0, 7.0]])),
        (1, "regression", torch.tensor([[0.5], [-2.0], [3.25]])),
        (1, None, torch.tensor([0.5, -2.0, 3.25])),
        (4, "multi_label_classification", torch.tensor([[0.0, 1.0, 1.0, 0.0], [0.0] * 4, [1.0] * 4])),
        (1, "multi_label_classification", torch.tensor([[0.0], [1.0], [1.0]])),
        (2, "single_label_classification", torch.tensor([[1], [0], [1]])),
        (2, None, torch.tensor([[1], [0], [1]])),
    ],
)
def test_the_problem_type_chooses_the_loss_of_a_text(classes, problem_type, labels):
    ours = build(SEQUENCE, small_config(num_labels=classes, problem_type=problem_type))
    a, b = ours(**inputs(), labels=labels), as_huggingface(SEQUENCE, ours)(**inputs(), labels=labels)
    assert largest_difference(a.loss, b.loss) < TOLERANCE
