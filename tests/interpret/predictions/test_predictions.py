import dataclasses
import math

import pytest
import torch

from bertviz_lab import BertForNextSentencePrediction, BertForSequenceClassification, Checkpoint, InputError, Tokenizer
from bertviz_lab.interpret import choose_target, classify, encode_inputs, fill_mask, joint_fill, next_sentence
from bertviz_lab.interpret.inputs import single_token
from tests.little import little_checkpoint


def test_the_prediction_is_that_of_the_whole_forward_pass() -> None:
    checkpoint = little_checkpoint()
    found = fill_mask(checkpoint, "the [MASK] cat [MASK]", top_k=1)
    with torch.no_grad():
        logits = checkpoint.model(torch.tensor([found.encoding.ids])).prediction_logits[0]
    assert [m.candidates[0].id for m in found.masks] == [int(logits[m.position].argmax()) for m in found.masks]


@pytest.mark.parametrize("text", ["the red cat", "the red [mask] sat", "the red <mask> sat", "the red ___ sat"])
def test_a_text_without_a_mask_is_refused_with_advice(text: str) -> None:
    with pytest.raises(InputError, match=r"\[MASK\]"):
        fill_mask(little_checkpoint(), text)


def test_text_b_is_advised_on_as_text_a_is() -> None:
    with pytest.raises(InputError, match=r"write \[MASK\] in place of \"<mask>\""):
        fill_mask(little_checkpoint(), "the cat", text_b="the red <mask>.")
    with pytest.raises(InputError, match=r"model's 64 tokens, and every .* cut off"):
        fill_mask(little_checkpoint(), "the cat", text_b="the red cat " * 100 + "[MASK]")
    shorter = dataclasses.replace(little_checkpoint(), trained_length=16, pooling="mean")
    with pytest.raises(InputError, match="model's 16 tokens"):
        fill_mask(shorter, "the red cat " * 10 + "[MASK]")


def test_a_token_is_asked_for_by_its_id() -> None:
    asked = fill_mask(little_checkpoint(), "a [MASK]", word=20).masks[0].asked
    assert asked is not None
    assert asked.id == 20


@pytest.mark.parametrize("top_k", [0, -1, 10**6])
def test_an_impossible_number_of_candidates_is_refused(top_k: int) -> None:
    with pytest.raises(InputError, match="top_k"):
        fill_mask(little_checkpoint(), "a [MASK]", top_k=top_k)


def test_next_sentence_index_zero_means_is_next_and_labels_come_most_probable_first() -> None:
    checkpoint = little_checkpoint(kind=BertForNextSentencePrediction)
    with torch.no_grad():
        checkpoint.model.nsp.weight.zero_()
        checkpoint.model.nsp.bias.copy_(torch.tensor([5.0, -5.0]))
    assert next_sentence(checkpoint, "the cat", "the dog").is_next > 0.99
    checkpoint = little_checkpoint(kind=BertForSequenceClassification, num_labels=3, id2label=("bad", "fair", "good"))
    with torch.no_grad():
        checkpoint.model.classifier.weight.zero_()
        checkpoint.model.classifier.bias.copy_(torch.tensor([0.0, 3.0, 1.0]))
    assert [score.label for score in classify(checkpoint, "the cat").labels] == ["fair", "good", "bad"]


def multi_label_checkpoint(**shape) -> Checkpoint:
    """A classifier whose labels have probabilities 0.9, 0.1 and 0.8, whatever the text."""
    shape = {"num_labels": 3, "id2label": ("angry", "bored", "calm"), **shape}
    checkpoint = little_checkpoint(
        kind=BertForSequenceClassification, problem_type="multi_label_classification", **shape
    )
    with torch.no_grad():
        checkpoint.model.classifier.weight.zero_()
        checkpoint.model.classifier.bias.copy_(torch.tensor([0.9, 0.1, 0.8]).logit()[: shape["num_labels"]])
    return checkpoint


def test_each_label_of_a_multi_label_model_has_a_probability_of_its_own() -> None:
    classified = classify(multi_label_checkpoint(), "the cat")
    assert classified.multi_label
    assert [label.label for label in classified.labels] == ["angry", "calm", "bored"]
    assert [label.score for label in classified.labels] == pytest.approx([0.9, 0.8, 0.1], abs=1e-5)
    single = classify(multi_label_checkpoint(num_labels=1, id2label=("angry",)), "the cat")
    assert single.labels[0].score == pytest.approx(0.9, abs=1e-5)
    assert not classify(little_checkpoint(kind=BertForSequenceClassification, num_labels=3), "the cat").multi_label


@torch.no_grad()
def test_what_explains_a_multi_label_model_is_the_log_probability_of_the_label_alone() -> None:
    checkpoint = multi_label_checkpoint()
    inputs = encode_inputs(checkpoint, "the cat")
    vector = torch.zeros(1, 32)
    target = choose_target(checkpoint, inputs, "label", choice="calm")
    assert float(target.score(checkpoint.model, vector).exp()) == pytest.approx(0.8, abs=1e-5)
    contrast = choose_target(checkpoint, inputs, "label", choice="calm", against="bored")
    assert float(contrast.score(checkpoint.model, vector).exp()) == pytest.approx(8, abs=1e-3)


def test_a_typed_word_is_the_word_and_not_a_piece_that_is_spelt_like_it() -> None:
    lines = ["we sat in the sun", "a pin in a bin", "within the inn", "rain in spain"] * 30
    tokenizer = Tokenizer.train(lines, vocab_size=300, algorithm="bpe")
    assert tokenizer.id("in") is not None
    model = little_checkpoint().model
    checkpoint = Checkpoint(model, tokenizer, model.config, name="bpe")
    assert single_token(checkpoint, "in") == tokenizer.ids([" in"])[0][0]
    assert tokenizer.token(single_token(checkpoint, "in")) != "in"
    wordpiece = little_checkpoint()
    piece = next(token for token in wordpiece.tokenizer.tokens if token.startswith("##"))
    assert wordpiece.tokenizer.token(single_token(wordpiece, piece)) == piece


def test_a_token_beyond_the_vocabulary_is_named_by_its_number() -> None:
    checkpoint = little_checkpoint(vocab_size=300)
    beyond = checkpoint.tokenizer.vocab_size + 5
    with torch.no_grad():
        checkpoint.model.mlm.bias[beyond] = 100
    found = fill_mask(checkpoint, "the [MASK] cat", 1, word=beyond).masks[0]
    assert found.candidates[0].token == f"[id {beyond}]"
    assert found.asked is not None
    assert found.asked.rank == 1


TEXT = "the [MASK] cat [MASK] on the [MASK]"


def test_one_way_fills_as_fill_mask_does_and_ways_differ() -> None:
    checkpoint = little_checkpoint()
    text = "the red [MASK] sat"
    best = fill_mask(checkpoint, text, 3).masks[0].candidates
    found = joint_fill(checkpoint, text, beams=3)
    assert [f.tokens for f in found.joint] == [(c.token,) for c in best]
    assert math.exp(found.joint[0].log_probability) == pytest.approx(best[0].probability, abs=1e-6)
    assert found.joint[0].ids == found.independent.ids
    found = joint_fill(little_checkpoint(), TEXT, beams=8).joint
    assert len({way.ids for way in found}) == 8
    scores = [way.log_probability for way in found]
    assert scores == sorted(scores, reverse=True)


def test_with_one_way_each_masked_token_is_filled_in_the_text_as_it_then_is() -> None:
    checkpoint = little_checkpoint()
    (way,) = joint_fill(checkpoint, TEXT, beams=1).joint
    ids, left = torch.tensor([checkpoint.tokenizer.encode(TEXT).ids]), [0, 1, 2]
    positions = (ids[0] == checkpoint.tokenizer.mask_id).nonzero()[:, 0].tolist()
    for blank in way.order:
        with torch.no_grad():
            table = checkpoint.model(ids).prediction_logits[0].softmax(-1)
        assert blank == max(left, key=lambda place: float(table[positions[place]].max()))
        assert way.ids[blank] == int(table[positions[blank]].argmax())
        assert way.probabilities[blank] == pytest.approx(float(table[positions[blank]].max()), abs=1e-5)
        ids[0, positions[blank]] = way.ids[blank]
        left.remove(blank)
    assert way.log_probability == pytest.approx(sum(map(math.log, way.probabilities)), abs=1e-5)


@pytest.mark.parametrize(("text", "message"), [("no blank", "Put"), ("[MASK] " * 21, "too many")])
def test_nothing_to_fill_and_too_much_are_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        joint_fill(little_checkpoint(), text)
