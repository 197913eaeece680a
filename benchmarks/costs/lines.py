"""Straight lines through measurements, to read off what lies between and beyond them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Line:
    """y = start + slope * x, by least squares."""

    start: float
    slope: float
    r_squared: float  # share of the variance that the line explains

    def at(self, x: float) -> float:
        return self.start + self.slope * x


def fit(x: Sequence[float], y: Sequence[float]) -> Line:
    """The line through at least two points with different x.

    Each point's error counts relative to its value, since measured times vary by a share of themselves.
    """
    xs, ys = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    slope, start = np.polyfit(xs, ys, 1, w=1 / ys)
    mean = np.average(ys, weights=1 / ys**2)
    error = np.sum(((ys - start - slope * xs) / ys) ** 2)
    total = np.sum(((ys - mean) / ys) ** 2)
    return Line(float(start), float(slope), float(1 - error / total) if total else 1.0)
