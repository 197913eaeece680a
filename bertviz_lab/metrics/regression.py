"""Scores of a model that predicts a number, and of a search."""

from collections.abc import Sequence

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


_AT_ONCE = 256  # queries whose similarities with all candidates are in memory together


def retrieval_scores(ranks: Sequence[Sequence[int]]) -> dict[str, float]:
    """Return means over queries from the ranks, from 1, of the right candidates of each, of which it has at least one.

    `mrr` is the reciprocal rank of the first right candidate (Voorhees 1999), `recall_at_1`, 5 and 10 the share of
    the right candidates among the first; 0 without queries.
    """
    scores = {"mrr": float(np.mean([1 / min(row) for row in ranks])) if len(ranks) else 0.0}
    for k in (1, 5, 10):
        shares = [np.mean(np.asarray(row) <= k) for row in ranks]
        scores[f"recall_at_{k}"] = float(np.mean(shares)) if shares else 0.0
    return scores


def cosine_ranks(
    queries: NDArray[np.floating], candidates: NDArray[np.floating], right: Sequence[Sequence[int]]
) -> list[list[int]]:
    """Return the ranks, from 1, of each query's right candidates by cosine; the worst among equals and for NaN.

    `queries` (queries, hidden), `candidates` (candidates, hidden); `right` are the indices of each query's.
    """
    queries, candidates = _unit(queries), _unit(candidates)
    ranks = []
    for start in range(0, len(queries), _AT_ONCE):
        cosines = queries[start : start + _AT_ONCE] @ candidates.T
        for row, wanted in zip(cosines, right[start : start + _AT_ONCE], strict=True):
            ranks.append([int((~(row < row[index])).sum()) for index in wanted])
    return ranks


def _unit(vectors: NDArray[np.floating]) -> NDArray[np.floating]:
    norms = np.linalg.norm(vectors, axis=-1, keepdims=True)
    with np.errstate(invalid="ignore"):  # infinite by infinite is NaN
        unit: NDArray[np.floating] = vectors / np.where(norms > 0, norms, 1.0)
    return unit
