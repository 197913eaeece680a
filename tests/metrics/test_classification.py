"""Scores of classes, probabilities and numbers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from sklearn import metrics as sklearn_metrics

from bertviz_lab.metrics.classification import calibration, choose_thresholds, classification_report, multi_label_report
from bertviz_lab.metrics.regression import cosine_ranks, regression_scores, retrieval_scores

LABELS = ("bad", "fair", "good")
pairs = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=40)


def report_of(some):
    truth, predicted = np.array(some).T
    return truth, predicted, classification_report(truth, predicted, LABELS)


@given(pairs)
def test_averages_are_those_of_scikit_learn_over_the_classes_that_occur(some) -> None:
    truth, predicted, report = report_of(some)
    options = {"zero_division": 0.0}
    assert report.accuracy == pytest.approx(sklearn_metrics.accuracy_score(truth, predicted))
    assert report.macro_f1 == pytest.approx(sklearn_metrics.f1_score(truth, predicted, average="macro", **options))
    if len({*truth, *predicted}) > 1:  # scikit-learn warns of a single class
        assert report.mcc == pytest.approx(sklearn_metrics.matthews_corrcoef(truth, predicted), abs=1e-12)


@given(pairs)
def test_the_confusion_tells_everything_else(some) -> None:
    truth, _, report = report_of(some)
    table = report.confusion
    assert table.sum() == report.count == len(truth)
    assert table.trace() / table.sum() == pytest.approx(report.accuracy)
    for i, scores in enumerate(report.per_class):
        assert scores.label == LABELS[i]
        assert scores.support == table[i].sum()
        assert scores.precision == pytest.approx(table[i, i] / max(1, table[:, i].sum()))
        assert scores.recall == pytest.approx(table[i, i] / max(1, table[i].sum()))
        assert scores.f1 == pytest.approx(2 * table[i, i] / max(1, table[i].sum() + table[:, i].sum()))


def test_f1_is_that_of_the_second_class_where_there_are_two() -> None:
    truth, predicted = np.array([0, 0, 1, 1, 1]), np.array([0, 1, 1, 1, 0])
    assert classification_report(truth, predicted, ("no", "yes")).f1 == pytest.approx(2 / 3)
    three = classification_report(truth, predicted, LABELS)
    assert three.f1 == three.macro_f1


def test_a_true_class_that_a_binary_classifier_cannot_predict_does_not_change_what_f1_means() -> None:
    truth, predicted = np.array([0, 0, 1, 1, 1, 2]), np.array([0, 1, 1, 1, 0, 0])
    report = classification_report(truth, predicted, ("no", "yes", "other"), known=2)
    assert report.f1 == pytest.approx(sklearn_metrics.f1_score(truth == 1, predicted == 1)) == pytest.approx(2 / 3)
    assert report.labels == ("no", "yes", "other")


def test_a_constant_guess_scores_as_the_majority_and_correlates_with_nothing() -> None:
    truth = np.array([0, 2, 2, 2, 1])
    report = classification_report(truth, np.full(5, 2), LABELS)
    assert report.accuracy == pytest.approx(3 / 5)
    assert report.mcc == 0


def test_no_examples_score_nothing() -> None:
    report = classification_report(np.array([], dtype=int), np.array([], dtype=int), LABELS)
    assert (report.count, report.accuracy, report.macro_f1, report.f1) == (0, 0, 0, 0)
    assert report.confusion.shape == (3, 3)
    none = np.zeros((0, 3), dtype=bool)
    several = multi_label_report(none, none, LABELS)
    assert (several.count, several.micro_f1, several.macro_f1, several.subset_accuracy) == (0, 0.0, 0.0, 0.0)
    calibrated = calibration(np.zeros((0, 2)), np.zeros(0))
    assert (calibrated.ece, sum(one.count for one in calibrated.bins)) == (0, 0)


@given(arrays.arrays(bool, st.tuples(st.integers(1, 12), st.just(6))))
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


def noisy() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    truth = rng.random((60, 3)) < [0.1, 0.4, 0.7]
    return (truth * 0.3 + rng.random((60, 3)) * 0.7) ** [1, 2, 4], truth


def test_no_threshold_of_a_hundred_gives_a_better_f1() -> None:
    probabilities, truth = noisy()
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
    probabilities, truth = noisy()
    truth[:, 1] = False
    assert choose_thresholds(probabilities, truth, per_label=True)[1] == 0.5
    assert choose_thresholds(probabilities, np.zeros_like(truth)) == (0.5,)


def drawn(seed: int, count: int = 200, classes: int = 3):
    generator = np.random.default_rng(seed)
    return generator.dirichlet(np.ones(classes), size=count), generator.integers(0, classes, count)


@given(st.integers(0, 1000), st.integers(1, 20))
def test_every_prediction_is_in_the_bin_of_its_confidence(seed, bins) -> None:
    probabilities, truth = drawn(seed, 60)
    found = calibration(probabilities, truth, bins)
    confidence, right = probabilities.max(1), probabilities.argmax(1) == truth
    assert len(found.bins) == bins
    for one in found.bins:
        inside = (confidence > one.low) & (confidence <= one.high)
        assert one.count == inside.sum()
        if one.count:
            assert one.confidence == pytest.approx(confidence[inside].mean())
            assert one.accuracy == pytest.approx(right[inside].mean())
    gaps = [(abs(b.confidence - b.accuracy), b.count) for b in found.bins if b.count]
    assert found.ece == pytest.approx(sum(gap * count for gap, count in gaps) / 60)


def test_a_model_that_is_right_as_often_as_it_says_is_calibrated() -> None:
    probabilities = np.repeat([[0.25, 0.75]], 4, axis=0)
    found = calibration(probabilities, np.array([1, 1, 1, 0]))
    assert found.ece == 0


def test_a_confidence_on_an_edge_belongs_to_the_bin_below() -> None:
    found = calibration(np.array([[0.5, 0.5]]), np.array([0]), bins=2)
    assert [one.count for one in found.bins] == [1, 0]


def test_what_is_not_a_number_is_in_no_bin_and_makes_no_error() -> None:
    found = calibration(np.array([[0.2, 0.8], [np.nan, 1.0]]), np.array([1, 1]))
    assert np.isnan(found.ece)
    assert sum(one.count for one in found.bins) == 1


def test_a_class_that_the_classifier_does_not_know_is_never_right() -> None:
    assert calibration(np.array([[0.25, 0.75]]), np.array([2])).ece == 0.75


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
