"""The answers to the exercises in the notebooks are compared with what is expected."""

import pytest
import torch

from bertviz_lab.exercise import check


@pytest.mark.parametrize("answer", [None, ...])
def test_an_exercise_that_nobody_has_begun_is_neither_right_nor_wrong(answer: object) -> None:
    verdict = check(answer, 3)
    assert verdict.passed is None
    assert repr(verdict).startswith("… Not answered yet")


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (0.5, 0.50001),
        (3, 3),
        ("##ing", "##ing"),
        (["un", "##do"], ["un", "##do"]),
        ([1, 2], torch.tensor([1, 2])),
        (torch.ones(2, 3, requires_grad=True), torch.ones(2, 3)),
        ({"a", "b"}, {"b", "a"}),
        ([[1], [2, 3]], [[1], [2, 3]]),
        (True, True),
    ],
)
def test_equal_answers_are_correct(answer: object, expected: object) -> None:
    assert check(answer, expected).passed is True


@pytest.mark.parametrize(
    ("answer", "expected"),
    [(0.5, 0.51), ("a", "b"), (["a"], ["b"]), ("3", 3), ({"a"}, {"b"}), (torch.zeros(2), torch.ones(2)), ("a", None)],
)
def test_others_are_not_and_the_hint_is_told(answer: object, expected: object) -> None:
    verdict = check(answer, expected, "Look again.")
    assert verdict.passed is False
    assert "Look again." in repr(verdict)


def test_a_wrong_shape_is_named() -> None:
    assert "should be (3, 2), and is (2, 3)" in repr(check(torch.ones(2, 3), torch.ones(3, 2)))
