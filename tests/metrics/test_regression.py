import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertviz_lab.metrics import regression_report

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


def test_different_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="shape"):
        regression_report(np.zeros(2), np.zeros(3))
