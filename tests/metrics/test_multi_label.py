import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from sklearn import metrics as sklearn_metrics

from bertviz_lab.metrics.classification import choose_thresholds, multi_label_report

LABELS = ("sad", "angry", "glad")
several = arrays.arrays(bool, st.tuples(st.integers(1, 12), st.just(6)))


@given(several)
def test_scores_are_those_of_scikit_learn_over_all_labels(both) -> None:
    truth, predicted = both[:, :3], both[:, 3:]
    report = multi_label_report(truth, predicted, LABELS)
    for average, value in (("micro", report.micro_f1), ("macro", report.macro_f1)):
        expected = sklearn_metrics.f1_score(truth, predicted, average=average, zero_division=0.0)
        assert value == pytest.approx(expected)
    assert report.subset_accuracy == pytest.approx(sklearn_metrics.accuracy_score(truth, predicted))
    expected = sklearn_metrics.f1_score(truth, predicted, average=None, zero_division=0.0)
    assert [scores.f1 for scores in report.per_class] == pytest.approx(expected)
    assert [(scores.label, scores.support) for scores in report.per_class] == list(
        zip(LABELS, truth.sum(0), strict=True)
    )


def test_a_report_on_nothing_is_zero() -> None:
    none = np.zeros((0, 3), dtype=bool)
    report = multi_label_report(none, none, LABELS)
    assert (report.count, report.micro_f1, report.macro_f1, report.subset_accuracy) == (0, 0.0, 0.0, 0.0)


def noisy(seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    truth = rng.random((60, 3)) < [0.1, 0.4, 0.7]
    return (truth * 0.3 + rng.random((60, 3)) * 0.7) ** [1, 2, 4], truth


@pytest.mark.parametrize("seed", range(3))
def test_no_threshold_of_a_hundred_gives_a_better_f1(seed) -> None:
    probabilities, truth = noisy(seed)
    (one,) = choose_thresholds(probabilities, truth)
    scores = {t: sklearn_metrics.f1_score(truth, probabilities >= t, average="micro") for t in np.arange(1, 100) / 100}
    assert scores[one] == max(scores.values())
    each = choose_thresholds(probabilities, truth, per_label=True)
    for label, threshold in enumerate(each):
        known, shares = truth[:, label], probabilities[:, label]
        best = max(sklearn_metrics.f1_score(known, shares >= t, zero_division=0) for t in scores)
        assert sklearn_metrics.f1_score(known, shares >= threshold) == pytest.approx(best)


def test_of_thresholds_that_are_as_good_the_nearest_to_one_half_is_taken() -> None:
    truth = np.array([[True], [False]])
    assert choose_thresholds(np.array([[0.9], [0.1]]), truth) == (0.5,)
    assert choose_thresholds(np.array([[0.4], [0.1]]), truth) == (0.4,)
    assert choose_thresholds(np.array([[0.9], [0.6]]), truth) == (0.61,)


def test_a_label_that_no_example_has_keeps_one_half() -> None:
    probabilities, truth = noisy(0)
    truth[:, 1] = False
    assert choose_thresholds(probabilities, truth, per_label=True)[1] == 0.5
    assert choose_thresholds(probabilities, np.zeros_like(truth)) == (0.5,)


def test_probabilities_are_no_labels() -> None:
    truth = np.array([[1.0, 0.0, 1.0]])
    assert multi_label_report(truth, truth, LABELS).subset_accuracy == 1
    with pytest.raises(ValueError, match="must be whole numbers from 0 to 1"):
        multi_label_report(truth, np.array([[0.9, 0.2, 0.6]]), LABELS)
