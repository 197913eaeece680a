import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertviz_lab.metrics import cosine_ranks, regression_report, retrieval_report

numbers = st.floats(-1e6, 1e6, allow_subnormal=False)


@given(st.lists(st.tuples(numbers, numbers), min_size=1, max_size=30))
def test_errors_are_means_and_correlations_lie_between_minus_one_and_one(pairs) -> None:
    truth, predicted = np.array(pairs).T
    report = regression_report(truth, predicted)
    assert report.mse == pytest.approx(np.mean((truth - predicted) ** 2))
    assert report.mae == pytest.approx(np.mean(np.abs(truth - predicted)))
    assert -1 <= report.pearson <= 1
    assert -1 <= report.spearman <= 1


@pytest.mark.parametrize("scale", [1e-300, 1e-5, 1e150, 1e300])
def test_correlations_do_not_depend_on_the_unit(scale) -> None:
    truth, predicted = np.random.default_rng(1).normal(size=(2, 20))
    small, large = regression_report(truth, predicted), regression_report(truth * scale, predicted)
    assert large.pearson == pytest.approx(small.pearson)
    assert large.spearman == pytest.approx(small.spearman)


@pytest.mark.parametrize("constant", [0.0, 2.5, 1e9 / 3])
def test_a_constant_correlates_with_nothing(constant) -> None:
    truth = np.array([1.0, 2, 3, 4])
    for report in (
        regression_report(truth, np.full(4, constant)),
        regression_report(np.full(4, constant), truth),
        regression_report(truth[:1], truth[1:2]),
    ):
        assert (report.pearson, report.spearman) == (0, 0)


@pytest.mark.parametrize("broken", [np.nan, np.inf])
def test_what_is_not_a_number_makes_no_score(broken) -> None:
    report = regression_report(np.array([1.0, 2]), np.array([1.0, broken]))
    assert np.isnan([report.pearson, report.spearman, report.mse, report.mae]).all()
    assert report.count == 2


def test_no_examples_score_nothing() -> None:
    report = regression_report(np.array([]), np.array([]))
    assert (report.pearson, report.spearman, report.mse, report.mae, report.count) == (0, 0, 0, 0, 0)


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
