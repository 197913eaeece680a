"""Whether a classifier that is 80% sure is right eight times in ten (Guo et al. 2017, section 2)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bertviz_lab.metrics.classification import whole_numbers


@dataclass(frozen=True)
class CalibrationBin:
    """The predictions whose confidence is above `low` and at most `high`; without any, the two means are 0."""

    low: float
    high: float
    count: int
    confidence: float  # their mean confidence: the probability of the likeliest class
    accuracy: float  # the share of them that is right


@dataclass(frozen=True)
class Calibration:
    """How far confidence and accuracy are apart: `ece` in the mean over all predictions, `mce` in the worst bin.

    Both are between 0, honest, and 1; NaN where a probability is NaN.
    """

    bins: tuple[CalibrationBin, ...]
    ece: float
    mce: float


def calibration(probabilities: NDArray[np.floating], truth: NDArray[np.integer], bins: int = 10) -> Calibration:
    """Sort predictions, (examples, classes), by how sure they are, and see how many are right; `truth` (examples,).

    In `truth` the number after the last class is any that the classifier does not know. Raises `ValueError` where the
    shapes do not fit, there is no bin, a true class is out of range, or probabilities are not between 0 and 1 (logits).
    """
    probabilities, truth = np.asarray(probabilities, dtype=np.float64), np.asarray(truth)
    if probabilities.ndim != 2 or truth.shape != probabilities.shape[:1] or bins < 1:
        raise ValueError(f"probabilities {probabilities.shape}, classes {truth.shape}, {bins} bins do not fit")
    if (np.abs(probabilities - 0.5) > 0.5 + 1e-6).any():  # not for a rounding error
        raise ValueError("probabilities must be between 0 and 1; of logits take the softmax first")
    truth = whole_numbers(truth, probabilities.shape[1])
    has_nan = bool(np.isnan(probabilities).any())
    valid = ~np.isnan(probabilities).any(axis=1)
    probabilities, truth = probabilities[valid], truth[valid]
    confidence = probabilities.max(axis=1, initial=0.0)
    correct = probabilities.argmax(axis=1) == truth if probabilities.size else np.zeros(len(truth), dtype=bool)

    edges = np.linspace(0.0, 1.0, bins + 1)
    bin_of = np.clip(np.digitize(confidence, edges, right=True) - 1, 0, bins - 1)
    counts = np.bincount(bin_of, minlength=bins)
    totals = np.maximum(counts, 1)
    means = np.bincount(bin_of, weights=confidence, minlength=bins) / totals
    rates = np.bincount(bin_of, weights=correct, minlength=bins) / totals
    gaps = np.abs(means - rates)
    return Calibration(
        tuple(
            CalibrationBin(float(edges[i]), float(edges[i + 1]), int(counts[i]), float(means[i]), float(rates[i]))
            for i in range(bins)
        ),
        ece=np.nan if has_nan else float((gaps * counts).sum() / max(1, counts.sum())),
        mce=np.nan if has_nan else float(gaps.max()),
    )
