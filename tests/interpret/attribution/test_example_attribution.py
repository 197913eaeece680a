"""Why a fine-tuned model said what it said about a labelled example."""

import pytest

from bertviz_lab import BertForQuestionAnswering, BertForSequenceClassification, BertForTokenClassification
from bertviz_lab.data.examples import LabelledText, LabelledWords, Question
from bertviz_lab.interpret import METHODS
from bertviz_lab.interpret.attribution import explain_example
from bertviz_lab.training.finetuning.predictions import Prediction
from tests.little import little_checkpoint

CLASSES = {"num_labels": 3, "id2label": ("bad", "good", "so so")}
TAGS = {"num_labels": 3, "id2label": ("B-X", "I-X", "O")}
WORDS = ("the", "red", "cat", "sat")


def explained(checkpoint, example, prediction):
    found = explain_example(checkpoint, example, prediction)
    assert [one.method for one in found] == list(METHODS)
    (target,) = {one.target for one in found}
    return found, target


def test_the_share_that_is_done_is_that_of_all_methods() -> None:
    checkpoint, shares = little_checkpoint(kind=BertForSequenceClassification, **CLASSES), []
    explain_example(checkpoint, LabelledText("the red cat", None, "bad", 1), Prediction("good"), shares.append)
    assert shares == sorted(shares)
    assert 1 / 3 in shares
    assert shares[-1] == 1


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
