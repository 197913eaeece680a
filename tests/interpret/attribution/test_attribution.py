from dataclasses import replace

import numpy as np
import pytest
import torch

from bertviz_lab import BertForQuestionAnswering, BertForSequenceClassification, BertForTokenClassification, InputError
from bertviz_lab.data.examples import LabelledText, LabelledWords, Question
from bertviz_lab.interpret import (
    METHODS,
    Target,
    ablate_heads,
    attribute,
    choose_target,
    class_scores,
    encode_inputs,
    fill_mask,
    logit_lens,
)
from bertviz_lab.interpret.causes.attribution import explain_example
from bertviz_lab.training.finetuning.tasks.base import Prediction
from tests.little import little_checkpoint

TEXT = "the red cat [MASK] on the mat"


def log_probability(checkpoint, text: str, word: str) -> float:
    return float(np.log(fill_mask(checkpoint, text, word=word).masks[0].asked.probability))


def test_integrated_gradients_sum_to_what_the_words_change() -> None:
    for seed in range(4):
        checkpoint = little_checkpoint(seed=seed)
        found = attribute(checkpoint, TEXT)
        (blank, *_) = (i for i, token in enumerate(found.encoding.tokens) if token == "[MASK]")
        hidden = "[MASK] [MASK] [MASK] [MASK] [MASK] [MASK] [MASK]"
        wanted = fill_mask(checkpoint, hidden, word=found.target.name).masks[blank - 1].asked.probability
        shown = log_probability(checkpoint, TEXT, found.target.name)
        assert found.change == pytest.approx(shown - np.log(wanted), abs=1e-4)
        assert found.scores.sum() + found.error == pytest.approx(found.change, abs=1e-5)
        assert abs(found.error) <= max(0.02 * abs(found.change), 1e-3)


@pytest.mark.parametrize("method", METHODS)
def test_special_tokens_get_nothing_where_they_are_not_touched(method) -> None:
    found = attribute(little_checkpoint(), TEXT, method=method)
    assert found.scores.shape == (len(found.encoding),)
    if method != "gradient x input":
        assert found.scores[0] == found.scores[-1] == 0
        assert found.scores[found.encoding.tokens.index("[MASK]")] == pytest.approx(0, abs=1e-7)


def test_occlusion_is_what_hiding_a_token_costs() -> None:
    checkpoint = little_checkpoint()
    found = attribute(checkpoint, TEXT, method="occlusion")
    position = found.encoding.tokens.index("cat")
    (_, asked) = fill_mask(checkpoint, TEXT.replace("cat", "[MASK]"), word=found.target.name).masks
    shown = log_probability(checkpoint, TEXT, found.target.name)
    assert found.scores[position] == pytest.approx(shown - np.log(asked.asked.probability), abs=1e-5)
    assert found.error is None


def test_gradient_x_input_is_the_slope_along_each_word_vector() -> None:
    checkpoint = little_checkpoint()
    found = attribute(checkpoint, TEXT, method="gradient x input")
    inputs = encode_inputs(checkpoint, TEXT)
    words = checkpoint.model.bert.embeddings.word(inputs.input_ids).detach().double()
    model = checkpoint.model.double()
    step, position = 1e-5, 3

    def score(scale: float) -> float:
        moved = words.clone()
        moved[0, position] *= scale
        with torch.no_grad():
            logits = model(inputs_embeds=moved).prediction_logits[0, found.target.position]
        return float(logits.log_softmax(-1)[found.target.index])

    slope = (score(1 + step) - score(1 - step)) / (2 * step)
    assert found.scores[position] == pytest.approx(slope, rel=1e-3, abs=1e-5)


def test_a_label_and_a_next_sentence_are_explained_likewise() -> None:
    texts = ("the red cat sat", "a small dog ran")
    for kind, checkpoint in (
        ("next", little_checkpoint()),
        ("label", little_checkpoint(kind=BertForSequenceClassification, num_labels=3)),
    ):
        target = choose_target(checkpoint, encode_inputs(checkpoint, *texts), kind)
        found = attribute(checkpoint, *texts, target=target)
        assert found.scores.sum() + found.error == pytest.approx(found.change, abs=1e-5)


@pytest.mark.parametrize("method", METHODS)
def test_two_answers_against_each_other_are_the_difference_of_both(method) -> None:
    checkpoint = little_checkpoint()
    inputs = encode_inputs(checkpoint, TEXT)
    one, other = (choose_target(checkpoint, inputs, choice=word) for word in ("sat", "red"))
    both = choose_target(checkpoint, inputs, choice="sat", against="red")
    assert both.title == "sat rather than red"
    alone, second, contrast = (
        attribute(checkpoint, TEXT, method=method, target=target) for target in (one, other, both)
    )
    assert contrast.change == pytest.approx(alone.change - second.change, abs=1e-5)
    if method != "integrated gradients":  # whose error is its own
        np.testing.assert_allclose(contrast.scores, alone.scores - second.scores, atol=1e-5)


def test_a_target_of_another_kind_of_model_text_or_name_is_refused() -> None:
    checkpoint, classifier = little_checkpoint(), little_checkpoint(kind=BertForSequenceClassification, num_labels=3)
    label = choose_target(classifier, encode_inputs(classifier, TEXT), "label")
    later = choose_target(checkpoint, encode_inputs(checkpoint, "the old man reads the red book near the [MASK]"))
    larger = Target("token", 4, 10**6, "unheard-of")
    pair = choose_target(checkpoint, encode_inputs(checkpoint, TEXT, "a dog"), "next")
    for explain in (attribute, ablate_heads, logit_lens):
        with pytest.raises(InputError, match="no classification head" if explain is not logit_lens else "a token, not"):
            explain(checkpoint, TEXT, target=label)
        for target in (later, larger, replace(larger, index=9, against=larger)):
            with pytest.raises(InputError, match="was chosen for another text or model"):
                explain(checkpoint, TEXT, target=target)
    with pytest.raises(InputError, match="another text or model"):
        attribute(checkpoint, TEXT, target=pair)
    with pytest.raises(InputError, match="another text or model"):
        class_scores(checkpoint, encode_inputs(checkpoint, TEXT), later)
    with pytest.raises(InputError, match="Unknown method bogus: choose one of integrated gradients"):
        attribute(checkpoint, TEXT, method="bogus")


CLASSES = {"num_labels": 3, "id2label": ("bad", "good", "so so")}
TAGS = {"num_labels": 3, "id2label": ("B-X", "I-X", "O")}
WORDS = ("the", "red", "cat", "sat")


def explained(checkpoint, example, prediction):
    found = explain_example(checkpoint, example, prediction)
    assert [one.method for one in found] == list(METHODS)
    (target,) = {one.target for one in found}
    return found, target


@pytest.mark.parametrize(("true", "against"), [("good", None), ("bad", "bad"), ("odd", None)])
def test_a_wrong_label_is_set_against_the_right_one(true, against) -> None:
    checkpoint = little_checkpoint(kind=BertForSequenceClassification, **CLASSES)
    _, target = explained(checkpoint, LabelledText("the red cat", "a dog", true, 1), Prediction("good"))
    assert (target.name, target.against and target.against.name) == ("good", against)


@pytest.mark.parametrize(
    ("true", "said", "name"),
    [
        (("bad",), ("bad", "good"), "good"),  # the wrong one
        (("bad", "so so"), ("bad",), "so so"),  # the missing one
        (("bad",), ("bad",), "bad"),
        (("odd",), ("bad",), "bad"),
        (("odd",), (), None),
    ],
)
def test_of_several_labels_one_that_is_wrong_or_missing_is_explained(true, said, name) -> None:
    problem = {"problem_type": "multi_label_classification"}
    checkpoint = little_checkpoint(kind=BertForSequenceClassification, **CLASSES, **problem)
    example = LabelledText("the red cat", None, true, 1)
    _, target = explained(checkpoint, example, Prediction(labels=said, probabilities=(0.1,) * 3))
    assert target.is_multi_label
    assert target.name == (name or target.name)


@pytest.mark.parametrize(
    ("labels", "said", "word", "against"),
    [
        (("O", "B-X", "O", "O"), ("O", "O", "O", "B-X"), "red", "B-X"),  # the first wrong one
        (("O", "O", "B-X", "O"), ("O", "O", "B-X", "O"), "cat", None),  # none wrong: the first that is no O
        (("O",) * 4, ("O",) * 4, "the", None),
        (("O", "O", "O", "NEW"), ("O",) * 4, "sat", None),
    ],
)
def test_of_words_the_one_worth_explaining_is_explained(labels, said, word, against) -> None:
    checkpoint = little_checkpoint(kind=BertForTokenClassification, **TAGS)
    prediction = Prediction(labels=said, certainty=(1.0,) * 4)
    found, target = explained(checkpoint, LabelledWords(WORDS, labels, 1), prediction)
    assert found[0].encoding.tokens[target.position] == word
    assert (target.name, target.against and target.against.name) == (said[WORDS.index(word)], against)


def test_a_word_that_is_not_read_leaves_another_to_be_explained() -> None:
    checkpoint = little_checkpoint(kind=BertForTokenClassification, **TAGS)
    for words in (("\x00", "cat"), ("cat",) * 70):
        said = ("O",) * (len(words) - 1) + ("B-X",)
        labels = ("B-X", "B-X") if len(words) == 2 else ("O",) * 70
        explained(checkpoint, LabelledWords(words, labels, 1), Prediction(labels=said, certainty=(1.0,) * len(words)))


def test_of_an_answer_its_first_token_is_explained() -> None:
    checkpoint = little_checkpoint(kind=BertForQuestionAnswering)
    example = Question("1", "who sat on the mat", "the red cat sat on the mat", (), 1)
    _, target = explained(checkpoint, example, Prediction())
    assert target.kind == "start"
