"""95% intervals over instances, one function for each kind of number."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, ndtri, stdtrit

LEVEL = 0.95
"""The confidence level of every interval."""
_Z = float(ndtri(0.5 + LEVEL / 2))

Interval = tuple[float, float, float]
"""The number, and the ends of its interval; NaN where there is none."""


def proportion(successes: int, n: int) -> Interval:
    """A share with Wilson's interval."""
    if n == 0:
        return math.nan, math.nan, math.nan
    share = successes / n
    centre = (share + _Z**2 / (2 * n)) / (1 + _Z**2 / n)
    spread = share * (1 - share) / n + _Z**2 / (4 * n**2)
    half = _Z * math.sqrt(spread) / (1 + _Z**2 / n)
    # at 0 and 1 one end is the share itself, but for rounding
    return share, max(0.0, min(share, centre - half)), min(1.0, max(share, centre + half))


def mean(values: NDArray[np.float64]) -> Interval:
    """A mean with Student's interval."""
    n = len(values)
    if n == 0:
        return math.nan, math.nan, math.nan
    centre, sd = mean_and_sd(values)
    if n == 1:
        return centre, math.nan, math.nan
    half = float(stdtrit(n - 1, 0.5 + LEVEL / 2)) * sd / math.sqrt(n)
    return centre, centre - half, centre + half


def mean_and_sd(values: NDArray[np.float64]) -> tuple[float, float]:
    """The mean, and the standard deviation over n − 1, NaN of one value.

    Sums and squares of values near the largest number are beyond it: these are scaled first.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        centre = float(values.mean())
        sd = float(values.std(ddof=1)) if len(values) > 1 else math.nan
    if len(values) < 2 or (math.isfinite(centre) and math.isfinite(sd)):
        return centre, sd
    top = float(np.abs(values).max())
    if not math.isfinite(top):
        return centre, math.nan
    scaled = values / top
    return float(scaled.mean()) * top, float(scaled.std(ddof=1)) * top


def mean_share(values: NDArray[np.float64]) -> Interval:
    """A mean of shares: Wilson's interval where all are 0 or 1, else Student's, kept in [0, 1]."""
    if len(values) and ((values == 0) | (values == 1)).all():
        return proportion(int(values.sum()), len(values))
    return within_one(mean(values))


def within_one(interval: Interval) -> Interval:
    """The interval of a share, cut off at 0 and 1; NaN stays."""
    value, low, high = interval
    return value, float(np.maximum(low, 0.0)), float(np.minimum(high, 1.0))


def quantile(values: NDArray[np.float64], q: float) -> Interval:
    """A quantile with its distribution-free interval, from order statistics.

    The number of values below the true quantile is binomial, so its own quantiles are ranks of the
    values between which the quantile lies. An end that would fall outside the values is NaN; so
    are both of the minimum and the maximum.
    """
    n = len(values)
    if n == 0:
        return math.nan, math.nan, math.nan
    ordered = np.sort(values)
    value = 2 * float(np.quantile(ordered / 2, q))  # the difference of two may overflow
    if q in (0.0, 1.0):
        return value, math.nan, math.nan
    below = bdtr(np.arange(n + 1), n, q)  # P(at most k of n values lie below the quantile)
    tail = (1 - LEVEL) / 2
    low = int(np.searchsorted(below, tail)) - 1
    high = int(np.searchsorted(below, 1 - tail))
    # of few values the quantile is read between two of them, and may lie beyond an end
    return (
        value,
        min(value, float(ordered[low])) if low >= 0 else math.nan,
        max(value, float(ordered[high])) if high < n else math.nan,
    )
