"""How well a number separates two groups."""

from __future__ import annotations

import numpy as np
from scipy import optimize, stats

from verax.statistics.intervals import Values


def auroc(higher: Values, lower: Values) -> float:
    """The probability that a value of the first group is above one of the second, ties by half.

    NaN if a group is empty.

    >>> auroc(np.array([2.0, 3.0]), np.array([1.0, 2.0]))
    0.875
    """
    if not len(higher) or not len(lower):
        return float("nan")
    ranks = stats.rankdata(np.concatenate([higher, lower]))[: len(higher)]
    above = ranks.sum() - len(higher) * (len(higher) + 1) / 2
    return float(above / (len(higher) * len(lower)))


def quantile_line(x: Values, y: Values, q: float) -> Values:
    """Coefficients of the line below which a share q of the values lie, by quantile regression.

    Least sum of q (y − xβ)⁺ + (1 − q) (xβ − y)⁺ (Koenker & Bassett 1978), as a linear program.

    Args:
        x: (n, k), with a column of ones for an intercept.
        y: (n,).
        q: from 0 to 1.

    Returns:
        (k,) β.
    """
    n, k = x.shape
    cost = np.concatenate([np.zeros(k), np.full(n, q), np.full(n, 1 - q)])
    equal = np.hstack([x, np.eye(n), -np.eye(n)])
    bounds = [(None, None)] * k + [(0, None)] * (2 * n)
    solved = optimize.linprog(cost, A_eq=equal, b_eq=y, bounds=bounds, method="highs")
    return np.asarray(solved.x[:k], dtype=np.float64)
