"""Scores of a search: where the right candidates stand in the ranking of each query."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

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
    """The ranks of the right candidates of each query by cosine, from 1; of equals, and where it is NaN, the worst.

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
