"""Answers that nobody fetches: how much of them is kept, and whose go first."""

from typing import Any

import pytest
from gradio.server_messages import ProcessCompletedMessage

from bertviz_lab.ui.guard.unread_answers import UnreadAnswers


def answer(value: Any) -> ProcessCompletedMessage:
    return ProcessCompletedMessage(output={"data": value}, success=True)


def test_the_oldest_answer_goes_of_the_address_that_has_most() -> None:
    unread = UnreadAnswers(10)
    one, two, three = answer([1.0] * 3), answer([1.0] * 4), answer([1.0] * 3)
    unread.add("A", one)
    unread.add("B", two)
    unread.add("A", three)
    assert all(message.success for message in (one, two, three))
    four = answer("a")
    unread.add("B", four)
    assert [message.success for message in (one, two, three, four)] == [False, True, True, True]
    assert "ask again" in one.output["error"]


def test_what_was_fetched_does_not_count() -> None:
    unread = UnreadAnswers(10)
    for _ in range(5):
        message = answer([1.0] * 6)
        unread.add("A", message)
        assert message.success
        del message


@pytest.mark.parametrize(("most", "is_kept"), [(11, True), (10, False)])
def test_an_answer_is_measured_by_its_numbers_and_characters(most: int, is_kept: bool) -> None:
    message = answer({"tokens": ["[CLS]"], "attentions": [[[0.5, 0.5], [0.5, 0.5]]], "note": None, "empty": []})
    UnreadAnswers(most).add("A", message)
    assert message.success is is_kept
