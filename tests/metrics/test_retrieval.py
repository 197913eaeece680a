import numpy as np
import pytest

from bertviz_lab.metrics import cosine_ranks, retrieval_report


def test_ranks_count_from_one_and_equals_are_the_worst() -> None:
    candidates = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [2.0, 2.0]])
    assert cosine_ranks(np.array([[3.0, 0.1], [1.0, 1.0]]), candidates, [[0, 1], [2]]) == [[1, 4], [2]]


def test_vectors_that_are_all_the_same_find_nothing() -> None:
    same = np.ones((5, 3))
    assert cosine_ranks(same, same, [[n] for n in range(5)]) == [[5]] * 5


def test_means_are_over_queries() -> None:
    report = retrieval_report([[1], [4], [2, 12]])
    assert report.count == 3
    assert report.mrr == pytest.approx((1 + 1 / 4 + 1 / 2) / 3)
    assert (report.recall_at_1, report.recall_at_5) == pytest.approx((1 / 3, (1 + 1 + 0.5) / 3))
    assert report.recall_at_10 == pytest.approx((1 + 1 + 0.5) / 3)
    assert retrieval_report([]).mrr == 0.0
