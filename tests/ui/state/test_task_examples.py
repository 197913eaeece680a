"""Texts to try a fine-tuned model on: of a model of no run, from the sample whose words it knows."""

import pytest

from bertviz_lab import load_checkpoint
from bertviz_lab.model import BertForQuestionAnswering
from bertviz_lab.ui.state.task_examples import task_examples
from tests.little import little_checkpoint


def test_a_model_of_tiny_town_is_asked_about_tiny_town() -> None:
    checkpoint = load_checkpoint("answers-town")
    examples = task_examples(checkpoint, None)
    assert len(examples) == 5
    for texts in examples:
        for text in texts:
            known = checkpoint.tokenizer.encode(text.rstrip("?")).ids  # its stories ask nothing
            assert checkpoint.tokenizer.unk_id not in known, text


@pytest.mark.parametrize(("words", "town"), [(30_522, False), (811, True)])
def test_another_question_answering_model_is_asked_in_ordinary_english(words: int, town: bool) -> None:
    examples = task_examples(little_checkpoint(kind=BertForQuestionAnswering, vocab_size=words), None)
    assert len(examples) == 5
    assert any("Marrowby" in passage for _, passage in examples) != town
    assert all(question.endswith("?") and len(question) + len(passage) <= 1200 for question, passage in examples)
