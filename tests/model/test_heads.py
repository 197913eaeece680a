"""The tasks on the backbone: which labels move what."""

import pytest
import torch

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
