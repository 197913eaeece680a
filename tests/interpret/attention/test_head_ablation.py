import numpy as np
import pytest
import torch

from bertviz_lab import BertForNextSentencePrediction, BertForSequenceClassification
from bertviz_lab.interpret import ablate_heads, choose_target, encode_inputs, fill_mask, next_sentence
from tests.little import little_checkpoint

TEXT = "the red [MASK] sat on the mat"


def test_switching_off_a_head_gives_what_the_model_with_a_head_mask_says() -> None:
    checkpoint = little_checkpoint()
    found = ablate_heads(checkpoint, TEXT)
    (whole,) = fill_mask(checkpoint, TEXT, word=found.target.name).masks
    assert found.effects == pytest.approx(np.log(whole.asked.probability) - found.without_head, abs=1e-5)
    for layer in range(2):
        for head in range(2):
            head_mask = np.ones((2, 2))
            head_mask[layer, head] = 0
            (blank,) = fill_mask(checkpoint, TEXT, word=found.target.name, head_mask=head_mask).masks
            assert np.exp(found.without_head[layer, head]) == pytest.approx(blank.asked.probability, abs=1e-6)
        head_mask = np.ones((2, 2))
        head_mask[layer] = 0
        (blank,) = fill_mask(checkpoint, TEXT, word=found.target.name, head_mask=head_mask).masks
        assert np.exp(found.without_layer[layer]) == pytest.approx(blank.asked.probability, abs=1e-6)


def test_a_head_that_says_nothing_has_no_effect() -> None:
    checkpoint = little_checkpoint()
    size = checkpoint.config.hidden_size // 2
    with torch.no_grad():
        checkpoint.model.bert.encoder.layers[0].attention.output.weight[:, :size] = 0
    found = ablate_heads(checkpoint, TEXT)
    assert found.effects[0, 0] == pytest.approx(0, abs=1e-6)
    assert np.abs(found.effects[0, 1]) > 1e-3
    assert all((layer, head) != (0, 0) for layer, head, _ in found.top(3))
    assert len(found.top(100)) == 4


@pytest.mark.parametrize("kind", [BertForNextSentencePrediction, BertForSequenceClassification])
def test_other_heads_of_the_model_can_be_asked_too(kind: type) -> None:
    checkpoint = little_checkpoint(kind=kind)
    question = "next" if kind is BertForNextSentencePrediction else "label"
    texts = ("the red cat sat", "a small dog ran")
    target = choose_target(checkpoint, encode_inputs(checkpoint, *texts), question)
    found = ablate_heads(checkpoint, *texts, target=target)
    assert found.without_head.shape == (2, 2)
    if question == "next":
        without = next_sentence(checkpoint, *texts, head_mask=np.array([[0, 1], [1, 1]]))
        probability = without.is_next if target.index == 0 else without.is_random
        assert np.exp(found.without_head[0, 0]) == pytest.approx(probability, abs=1e-6)
