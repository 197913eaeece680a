import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertviz_lab.metrics.classification import calibration


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
    assert found.mce == pytest.approx(max(gap for gap, _ in gaps))
    assert found.ece <= found.mce + 1e-12


def test_a_model_that_is_right_as_often_as_it_says_is_calibrated() -> None:
    probabilities = np.repeat([[0.25, 0.75]], 4, axis=0)
    found = calibration(probabilities, np.array([1, 1, 1, 0]))
    assert (found.ece, found.mce) == (0, 0)


def test_a_confidence_on_an_edge_belongs_to_the_bin_below() -> None:
    found = calibration(np.array([[0.5, 0.5]]), np.array([0]), bins=2)
    assert [one.count for one in found.bins] == [1, 0]


def test_no_predictions_have_no_error() -> None:
    found = calibration(np.zeros((0, 2)), np.zeros(0))
    assert (found.ece, found.mce, sum(one.count for one in found.bins)) == (0, 0, 0)


def test_what_is_not_a_number_is_in_no_bin_and_makes_no_error() -> None:
    found = calibration(np.array([[0.2, 0.8], [np.nan, 1.0]]), np.array([1, 1]))
    assert np.isnan([found.ece, found.mce]).all()
    assert sum(one.count for one in found.bins) == 1


def test_logits_and_classes_that_do_not_exist_are_refused() -> None:
    with pytest.raises(ValueError, match="between 0 and 1; of logits take the softmax first"):
        calibration(np.array([[2.0, -1.0]]), np.array([0]))
    probabilities = np.array([[0.25, 0.75]])
    for wrong in (-1, -100, 3, 0.5):
        with pytest.raises(ValueError, match="must be whole numbers from 0 to 2"):
            calibration(probabilities, np.array([wrong]))
    assert calibration(probabilities, np.array([2])).ece == 0.75  # a class that the classifier does not know
