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


def test_where_a_vector_is_not_finite_the_rank_is_the_worst() -> None:
    vectors = np.array([[1.0, np.nan], [1.0, 0.0], [np.inf, 0.0]])
    ranks = cosine_ranks(vectors, vectors, [[0], [1], [2]])
    assert ranks == [[3], [3], [3]]
    assert cosine_ranks(vectors[1:2], vectors[1:2], [[0]]) == [[1]]
    assert retrieval_report(np.array(ranks)).mrr == pytest.approx(1 / 3)


def test_what_cannot_be_ranked_is_refused() -> None:
    vectors = np.eye(2)
    for right in ([[0]], [[0], [1], [1]]):
        with pytest.raises(ValueError, match="there are 2 queries, but right candidates of"):
            cosine_ranks(vectors, vectors, right)
    for ranks in ([[1], []], [[0]], np.array([[1], [0]])):
        with pytest.raises(ValueError, match="every query needs a right candidate, and ranks count from 1"):
            retrieval_report(ranks)
