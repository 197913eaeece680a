import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertviz_lab.metrics.regression import cosine_ranks, regression_scores, retrieval_scores

numbers = st.floats(-1e6, 1e6, allow_subnormal=False)


@given(st.lists(st.tuples(numbers, numbers), min_size=1, max_size=30))
def test_errors_are_means_and_correlations_lie_between_minus_one_and_one(pairs) -> None:
    truth, predicted = np.array(pairs).T
    scores = regression_scores(truth, predicted)
    assert scores["mse"] == pytest.approx(np.mean((truth - predicted) ** 2))
    assert scores["mae"] == pytest.approx(np.mean(np.abs(truth - predicted)))
    assert -1 <= scores["pearson"] <= 1
    assert -1 <= scores["spearman"] <= 1


@pytest.mark.parametrize("scale", [1e-300, 1e-5, 1e150, 1e300])
def test_correlations_do_not_depend_on_the_unit(scale) -> None:
    truth, predicted = np.random.default_rng(1).normal(size=(2, 20))
    small, large = regression_scores(truth, predicted), regression_scores(truth * scale, predicted)
    for name in ("pearson", "spearman"):
        assert large[name] == pytest.approx(small[name])


@pytest.mark.parametrize("constant", [0.0, 2.5, 1e9 / 3])
def test_a_constant_correlates_with_nothing(constant) -> None:
    truth, same = np.array([1.0, 2, 3, 4]), np.full(4, constant)
    for pair in ((truth, same), (same, truth), (truth[:1], truth[1:2])):
        scores = regression_scores(*pair)
        assert (scores["pearson"], scores["spearman"]) == (0, 0)


@pytest.mark.parametrize("broken", [np.nan, np.inf])
def test_what_is_not_a_number_makes_no_score_and_no_examples_score_nothing(broken) -> None:
    assert np.isnan([*regression_scores(np.array([1.0, 2]), np.array([1.0, broken])).values()]).all()
    assert set(regression_scores(np.array([]), np.array([])).values()) == {0.0}


def test_ranks_count_from_one_and_equals_and_what_is_not_finite_are_the_worst() -> None:
    candidates = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [2.0, 2.0]])
    assert cosine_ranks(np.array([[3.0, 0.1], [1.0, 1.0]]), candidates, [[0, 1], [2]]) == [[1, 4], [2]]
    same = np.ones((5, 3))
    assert cosine_ranks(same, same, [[n] for n in range(5)]) == [[5]] * 5
    vectors = np.array([[1.0, np.nan], [1.0, 0.0], [np.inf, 0.0]])
    ranks = cosine_ranks(vectors, vectors, [[0], [1], [2]])
    assert ranks == [[3], [3], [3]]
    assert cosine_ranks(vectors[1:2], vectors[1:2], [[0]]) == [[1]]
    assert retrieval_scores(ranks)["mrr"] == pytest.approx(1 / 3)


def test_means_are_over_queries() -> None:
    scores = retrieval_scores([[1], [4], [2, 12]])
    recalls = {"recall_at_1": 1 / 3, "recall_at_5": (1 + 1 + 0.5) / 3, "recall_at_10": (1 + 1 + 0.5) / 3}
    assert scores == pytest.approx({"mrr": (1 + 1 / 4 + 1 / 2) / 3, **recalls})
    assert set(retrieval_scores([]).values()) == {0.0}
