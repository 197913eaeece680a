"""Scores of a model that predicts a number."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class RegressionReport:
    """How near predicted numbers come to the true ones.

    The correlations are between -1 and 1, and 0 where either side is always the same number: it says nothing about
    the other. All four are NaN where a number is NaN or infinite.
    """

    pearson: float  # whether the two lie on a line
    spearman: float  # whether the two have one order
    mse: float  # mean squared error, in the labels' unit squared
    mae: float  # mean absolute error, in the labels' unit
    count: int = 0


def regression_report(truth: NDArray[np.floating], predicted: NDArray[np.floating]) -> RegressionReport:
    """Score predicted numbers, (examples,), beside the true ones, (examples,)."""
    truth, predicted = np.asarray(truth, dtype=np.float64), np.asarray(predicted, dtype=np.float64)
    if not len(truth):
        return RegressionReport(0.0, 0.0, 0.0, 0.0)
    if not (np.isfinite(truth).all() and np.isfinite(predicted).all()):
        return RegressionReport(np.nan, np.nan, np.nan, np.nan, len(truth))
    with np.errstate(over="ignore"):
        apart = predicted - truth
        mse, mae = float((apart**2).mean()), float(np.abs(apart).mean())
    return RegressionReport(_pearson(truth, predicted), _spearman(truth, predicted), mse, mae, len(truth))


def _pearson(x: NDArray[np.floating], y: NDArray[np.floating]) -> float:
    from scipy.stats import pearsonr

    x, y = _comparable(x), _comparable(y)
    return float(pearsonr(x, y).statistic) if _varies(x) and _varies(y) else 0.0


def _spearman(x: NDArray[np.floating], y: NDArray[np.floating]) -> float:
    from scipy.stats import rankdata

    return _pearson(rankdata(x), rankdata(y))


def _comparable(x: NDArray[np.floating]) -> NDArray[np.floating]:
    """Moved and scaled to lie between -1 and 1: correlation does not change, and huge numbers do not overflow."""
    x = x / (np.abs(x).max() or 1.0)
    x = x - x.mean()
    return x / (np.abs(x).max() or 1.0)


def _varies(x: NDArray[np.floating]) -> bool:
    return len(x) > 1 and bool((x != x[0]).any())
