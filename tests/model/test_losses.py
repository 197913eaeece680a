"""Losses, and the heads that they teach."""

import math
import re

import pytest
import torch

from bertviz_lab.config import IGNORE_INDEX
from bertviz_lab.model.losses import cross_entropy, label_loss, span_loss
from tests.model.support import (
    KINDS,
    LENGTH,
    MASKED_LM,
    NEXT_SENTENCE,
    PRETRAINING,
    QUESTION,
    SEQUENCE,
    TOKENS,
    VOCAB,
    as_huggingface,
    build,
    gradients,
    inputs,
    largest_difference,
    small_config,
    token_labels,
)


def logits(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), requires_grad=True)


def test_cross_entropy_is_the_mean_over_the_labels_that_are_there():
    x = logits(2, 3, 5)
    labels = torch.tensor([[4, IGNORE_INDEX, 0], [IGNORE_INDEX, IGNORE_INDEX, 2]])
    p = x.detach().softmax(-1)
    expected = -(math.log(p[0, 0, 4]) + math.log(p[0, 2, 0]) + math.log(p[1, 2, 2])) / 3
    assert float(cross_entropy(x, labels).detach()) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("label", [-1, -99, -101, 3])
def test_a_label_that_is_no_class_is_refused(label):
    with pytest.raises((IndexError, RuntimeError), match="out of bounds"):
        cross_entropy(torch.randn(4, 3), torch.tensor([0, label, IGNORE_INDEX, 2]))


def test_without_any_label_the_loss_and_its_gradient_are_zero():
    x = logits(2, 3, 5)
    loss = cross_entropy(x, torch.full((2, 3), IGNORE_INDEX))
    (gradient,) = torch.autograd.grad(loss, x)
    assert float(loss.detach()) == 0.0
    assert float(gradient.abs().sum()) == 0.0


def test_uneven_parts_with_the_whole_count_give_the_gradient_of_the_whole():
    x = logits(6, 4, 5)
    labels = torch.randint(5, (6, 4), generator=torch.Generator().manual_seed(1))
    labels[0] = IGNORE_INDEX  # the first part has one label, the second three, the third eight
    labels[1, 1:] = IGNORE_INDEX
    labels[2, 3:] = IGNORE_INDEX
    labels[3] = IGNORE_INDEX
    (whole,) = torch.autograd.grad(cross_entropy(x, labels), x)
    count = int((labels != IGNORE_INDEX).sum())

    parts = sum(cross_entropy(x[i : i + 2], labels[i : i + 2], count) for i in (0, 2, 4))
    (summed,) = torch.autograd.grad(parts, x)
    torch.testing.assert_close(summed, whole, rtol=0, atol=1e-7)

    means = sum(cross_entropy(x[i : i + 2], labels[i : i + 2]) for i in (0, 2, 4)) / 3
    (mean_of_means,) = torch.autograd.grad(means, x)
    assert float((mean_of_means - whole).abs().max()) > 1e-2, "the trap: a mean of means is something else"


@pytest.mark.parametrize("shape", [(), (1,), (1, 1), (3,), (2, 1), (3, 2), (2, 3, 2), (6,)])
def test_labels_of_another_shape_are_refused_and_not_broadcast(shape):
    message = re.escape(f"Labels {shape} do not fit logits (2, 3, 5): give (2, 3)")
    with pytest.raises(ValueError, match=message):
        cross_entropy(logits(2, 3, 5), torch.zeros(shape, dtype=torch.long))


def test_labels_are_classes_or_a_number_and_may_have_a_last_dimension_of_one():
    x = logits(3, 4)
    labels = torch.tensor([0, 3, 1])
    assert torch.equal(label_loss(x, labels), cross_entropy(x, labels))
    numbers = torch.tensor([1.0, 2.0, 3.0])
    assert float(label_loss(torch.zeros(3, 1), numbers)) == pytest.approx(14 / 3)
    x, labels = logits(4, 5), torch.tensor([0, 3, 1, 4])
    assert torch.equal(cross_entropy(x, labels[:, None]), cross_entropy(x, labels))
    assert torch.equal(label_loss(x, labels[:, None]), label_loss(x, labels))
    number, numbers = logits(4, 1), torch.tensor([0.5, -1.0, 2.0, 8.0])
    assert torch.equal(label_loss(number, numbers[:, None]), label_loss(number, numbers))
    for wrong in (numbers[:1], numbers[0], numbers[None]):
        with pytest.raises(ValueError, match="do not fit logits"):
            label_loss(number, wrong)


@pytest.mark.parametrize("kind", [torch.float32, torch.long, torch.bool])
def test_labels_of_every_class_are_several_whatever_their_type(kind):
    x, labels = logits(4, 3), torch.tensor([[0, 1, 1], [0, 0, 0], [1, 1, 1], [1, 0, 0]])
    expected = torch.nn.functional.binary_cross_entropy_with_logits(x, labels.float())
    for problem_type in (None, "multi_label_classification"):
        assert torch.equal(label_loss(x, labels.to(kind), problem_type), expected)


def test_answers_outside_the_text_are_left_out():
    start, end = logits(3, 7), logits(3, 7, seed=1)
    inside = (span_loss(start[:1], end[:1], torch.tensor([2]), torch.tensor([4]))).detach()
    for outside in (7, 12, IGNORE_INDEX):
        far = torch.tensor([outside, outside])
        all_three = span_loss(start, end, torch.cat([torch.tensor([2]), far]), torch.cat([torch.tensor([4]), far]))
        assert float(all_three.detach()) == pytest.approx(float(inside), rel=1e-6)


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16])
def test_rows_at_a_time_give_the_loss_and_gradient_of_the_whole_table(kind: torch.dtype, monkeypatch):
    monkeypatch.setattr(
        "bertviz_lab.model.losses._AT_ONCE", 3 * 7
    )  # three rows of seven, so that the last part is short
    x = logits(11, 7).detach().to(kind).requires_grad_()
    labels = torch.randint(7, (11,), generator=torch.Generator().manual_seed(1))
    labels[2] = IGNORE_INDEX
    plain = torch.nn.functional.cross_entropy(x.float(), labels, ignore_index=IGNORE_INDEX)
    (expected,) = torch.autograd.grad(3 * plain, x)
    loss = cross_entropy(x, labels)
    (actual,) = torch.autograd.grad(3 * loss, x)
    torch.testing.assert_close(loss, plain)
    torch.testing.assert_close(actual, expected)


@pytest.mark.parametrize("label", [0, 1])
def test_either_class_alone_teaches_next_sentence_prediction(label):
    for kind, name in ((PRETRAINING, "next_sentence_label"), (NEXT_SENTENCE, "labels")):
        model = build(kind)
        loss = model(**inputs(), **{name: torch.full((3,), label)}).loss
        found = gradients(model, loss)
        assert float(found["nsp.weight"].abs().max()) > 1e-3
        assert float(found["bert.pooler.weight"].abs().max()) > 1e-4
        assert float(found["bert.embeddings.word.weight"].abs().max()) > 1e-5


def test_the_decoder_is_the_table_of_word_embeddings():
    model = build(MASKED_LM)
    hidden = model(**inputs()).last_hidden_state
    before = model.mlm(hidden, model.bert.embeddings.word.weight)
    assert [p.shape for p in model.parameters()].count(torch.Size([VOCAB, 24])) == 1
    with torch.no_grad():
        model.bert.embeddings.word.weight[7] += 1.0
    changed = (model.mlm(hidden, model.bert.embeddings.word.weight) != before).flatten(0, 1)
    assert bool(changed[:, 7].all())
    assert int(changed.sum()) == len(changed)


@pytest.mark.parametrize("kind", [SEQUENCE, TOKENS], ids=str)
def test_a_classifier_has_its_own_dropout(kind):
    never = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    model = build(kind, small_config(**never, classifier_dropout=0.5)).train()
    assert largest_difference(model(**inputs()).logits, model(**inputs()).logits) > 1e-2
    model = build(kind, small_config(**never)).train()
    assert torch.equal(model(**inputs()).logits, model(**inputs()).logits)
    model = build(kind, small_config(hidden_dropout_prob=0.5, classifier_dropout=0.0)).eval()
    assert torch.equal(model(**inputs()).logits, model(**inputs()).logits)


def test_every_head_hands_the_backbone_s_options_on():
    head_mask = torch.ones(3, 4)
    head_mask[0, 0] = 0
    for kind in (PRETRAINING, MASKED_LM, NEXT_SENTENCE, SEQUENCE, TOKENS, QUESTION):
        model = build(kind)
        plain = getattr(model(**inputs()), kind.outputs[0])
        for option in ({"causal": True}, {"head_mask": head_mask}, {"position_ids": torch.full((1, LENGTH), 3)}):
            assert largest_difference(plain, getattr(model(**inputs(), **option), kind.outputs[0])) > 1e-4
        out = model(**inputs(), output_trace=True, output_hidden_states=True)
        assert len(out.trace) == 3
        assert len(out.hidden_states) == 4


def test_what_comes_after_the_segments_is_given_by_name():
    # In transformers the fourth argument is `position_ids`: by position it would be taken for labels here.
    for kind in KINDS:
        with pytest.raises(TypeError, match="positional arguments"):
            build(kind)(*inputs().values(), torch.zeros(3, LENGTH, dtype=torch.long))


def test_the_number_of_labels_is_given_with_any_head():
    config = small_config(num_labels=3, id2label=("a", "b", "c"))
    for kind in (PRETRAINING, MASKED_LM, NEXT_SENTENCE, SEQUENCE, TOKENS, QUESTION):
        assert type(build(kind))(config, num_labels=5).config.labels == tuple(f"LABEL_{n}" for n in range(5))
    assert type(build(SEQUENCE))(config, num_labels=5)(**inputs()).logits.shape[-1] == 5
    assert type(build(SEQUENCE))(config, num_labels=3).config.labels == ("a", "b", "c")


def test_one_half_of_the_pretraining_labels_gives_that_half_of_the_loss():
    ours = build(PRETRAINING)
    masked, order = token_labels(VOCAB), torch.tensor([0, 1, 1])
    both = ours(**inputs(), labels=masked, next_sentence_label=order)
    assert ours(**inputs(), labels=masked).loss == both.mlm_loss
    assert ours(**inputs(), next_sentence_label=order).loss == both.nsp_loss
    assert largest_difference(both.loss, both.mlm_loss + both.nsp_loss) < 1e-5


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
    assert largest_difference(a.loss, b.loss) < 1e-5
