"""Two groups that have nothing to pair: Welch's t, such as for seeds of one model and another."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtr, stdtrit

from verax.statistics.intervals import LEVEL
from verax.statistics.missing import Values, is_constant, present

_ROUNDING = 1e-12


@dataclass(frozen=True)
class Independent:
    """The difference of two independent groups, and its test.

    difference  mean of a − mean of b
    low, high   its 95% interval, Welch's; NaN with fewer than two values on a side, or no spread
    p           two-sided; NaN where the test is undefined
    n_a, n_b    the values used
    excluded    those that are NaN, on either side
    """

    difference: float
    low: float
    high: float
    p: float
    n_a: int
    n_b: int
    excluded: int


def independent(a: ArrayLike, b: ArrayLike) -> Independent:
    """The difference of the means of a and b with Welch's (1947) test; variances may differ.

    Args:
        a: values of the first group; NaN is left out and counted.
        b: values of the second group.

    t = (mean a − mean b) / s with s² = s_a²/n_a + s_b²/n_b, on Welch–Satterthwaite degrees of
    freedom ν = s⁴ / Σ [(s_g²/n_g)² / (n_g − 1)], and the interval is the difference ± t_ν s.

    A group that is constant but for rounding has s_g = 0, and the other alone gives the spread.
    Where both are constant nothing tells how far chance would move them: there is no interval,
    and p is 1 if they are the same, else NaN.

    >>> test = independent([0.8, 0.9, 0.7], [0.5, 0.6, 0.4, 0.5])
    >>> round(test.difference, 3), round(test.p, 4)
    (0.3, 0.0143)
    """
    (left, out_a), (right, out_b) = present(a), present(b)
    size = max((float(np.abs(side).max()) for side in (left, right) if len(side)), default=0.0)
    size = size or 1.0  # t does not depend on the scale, but the square of a tiny value is zero
    left, right = left / size, right / size
    difference = float(left.mean() - right.mean()) if len(left) and len(right) else math.nan
    difference = 0.0 if abs(difference) <= _ROUNDING else difference
    half, p = _welch(difference, left, right)
    low, high = size * (difference - half), size * (difference + half)
    return Independent(
        size * difference, low, high, p, len(left), len(right), excluded=out_a + out_b
    )


def _welch(difference: float, left: Values, right: Values) -> tuple[float, float]:
    """Half the interval, and p."""
    if len(left) < 2 or len(right) < 2:
        return math.nan, math.nan
    parts = [0.0 if is_constant(g) else float(g.var(ddof=1)) / len(g) for g in (left, right)]
    square = sum(parts)
    if square == 0:
        return math.nan, 1.0 if difference == 0 else math.nan
    error = math.sqrt(square)
    shares = ((part / square) ** 2 for part in parts)
    freedom = 1 / sum(s / (len(g) - 1) for s, g in zip(shares, (left, right), strict=True))
    p = 2 * float(stdtr(freedom, -abs(difference) / error))
    return float(stdtrit(freedom, 0.5 + LEVEL / 2)) * error, p
