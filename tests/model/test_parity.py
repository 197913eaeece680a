"""The lab's BERT is Hugging Face's BERT: on the same weights, the same numbers within 1e-5."""

import pytest
import torch

from tests.model.support import (
    LENGTH,
    MODEL,
    PRETRAINING,
    SEQUENCE,
    VOCAB,
    as_huggingface,
    build,
    inputs,
    largest_difference,
    small_config,
    token_labels,
)

TOLERANCE = 1e-5


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
