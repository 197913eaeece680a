"""Scores of a model that predicts a number."""

import numpy as np
from numpy.typing import NDArray


def regression_scores(truth: NDArray[np.floating], predicted: NDArray[np.floating]) -> dict[str, float]:
    """Return `spearman`, `pearson`, `mse` and `mae` of predicted numbers, (examples,), next to the true ones.

    The correlations are between -1 and 1, and 0 where either side is always the same number: it says nothing about
    the other. All four are 0 without examples, and NaN where a number is NaN or infinite.
    """
    truth, predicted = np.asarray(truth, dtype=np.float64), np.asarray(predicted, dtype=np.float64)
    names = ("spearman", "pearson", "mse", "mae")
    if not len(truth) or not (np.isfinite(truth).all() and np.isfinite(predicted).all()):
        return dict.fromkeys(names, np.nan if len(truth) else 0.0)
    from scipy.stats import rankdata

    with np.errstate(over="ignore"):
        apart = predicted - truth
        errors = float((apart**2).mean()), float(np.abs(apart).mean())
    correlations = _pearson(rankdata(truth), rankdata(predicted)), _pearson(truth, predicted)
    return dict(zip(names, (*correlations, *errors), strict=True))


def _pearson(x: NDArray[np.floating], y: NDArray[np.floating]) -> float:
    from scipy.stats import pearsonr

    x, y = _comparable(x), _comparable(y)
    varies = len(x) > 1 and (x != x[0]).any() and (y != y[0]).any()
    return float(pearsonr(x, y).statistic) if varies else 0.0


def _comparable(x: NDArray[np.floating]) -> NDArray[np.floating]:
    """Moved and scaled to lie between -1 and 1: correlation does not change, and huge numbers do not overflow."""
    x = x / (np.abs(x).max() or 1.0)
    x = x - x.mean()
    return x / (np.abs(x).max() or 1.0)
