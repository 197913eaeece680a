import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as sklearn_metrics

from bertviz_lab.metrics.classification import classification_report

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
    weighted = sklearn_metrics.f1_score(truth, predicted, average="weighted", **options)
    assert report.weighted_f1 == pytest.approx(weighted)


@given(pairs)
def test_the_confusion_tells_everything_else(some) -> None:
    truth, _, report = report_of(some)
    table = report.confusion
    assert table.sum() == report.count == len(truth)
    assert table.trace() / table.sum() == pytest.approx(report.accuracy)
    recalls = [table[i, i] / table[i].sum() for i in range(3) if table[i].sum()]
    assert report.balanced_accuracy == pytest.approx(np.mean(recalls))
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
    assert report.balanced_accuracy == pytest.approx(1 / 3)


def test_one_class_alone_is_right_and_tells_nothing() -> None:
    report = classification_report(np.array([1, 1]), np.array([1, 1]), LABELS)
    assert (report.accuracy, report.macro_f1, report.weighted_f1, report.mcc) == (1, 1, 1, 0)


def test_no_examples_score_nothing() -> None:
    report = classification_report(np.array([], dtype=int), np.array([], dtype=int), LABELS)
    assert (report.count, report.accuracy, report.macro_f1, report.f1) == (0, 0, 0, 0)
    assert report.confusion.shape == (3, 3)


@pytest.mark.parametrize("predicted", [[0.2, 0.9], [0, np.nan], ["no", "yes"]])
def test_probabilities_and_names_are_no_classes(predicted) -> None:
    with pytest.raises(ValueError, match="classes and labels must be whole numbers from 0 to 1, not"):
        classification_report(np.array([0, 1]), np.array(predicted), ("no", "yes"))
    assert classification_report(np.array([0, 1]), np.array([0.0, 1.0]), ("no", "yes")).accuracy == 1
