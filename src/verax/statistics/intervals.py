"""Numbers with their 95% intervals, one function for each kind of number.

NaN marks a missing value: it is left out and counted.
"""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import bdtr, ndtri, stdtrit

from verax.errors import VeraxError

Values = NDArray[np.float64]

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


def clopper_pearson(successes: int, n: int, level: float = LEVEL) -> Interval:
    """A share and its exact interval (Clopper & Pearson 1934); NaN if n is 0.

    >>> [round(x, 4) for x in clopper_pearson(0, 60)]
    [0.0, 0.0, 0.0596]
    """
    if n == 0:
        return float("nan"), float("nan"), float("nan")
    from scipy import stats  # slow to import

    tail = (1 - level) / 2
    low = stats.beta.ppf(tail, successes, n - successes + 1) if successes else 0.0
    high = stats.beta.ppf(1 - tail, successes + 1, n - successes) if successes < n else 1.0
    return successes / n, float(low), float(high)


WHISKER = 1.5
"""How many times the distance of the quartiles a box plot's whiskers reach beyond them."""


def whiskers(values: NDArray[np.float64]) -> tuple[float, float]:
    """The least and the greatest value within `WHISKER` times q3 − q1 of the quartiles.

    As matplotlib draws them, with the quartiles of the tables: where these lie between two values
    and none within reach is beyond one, the whisker ends at the quartile. NaN without a value.
    """
    if not len(values):
        return np.nan, np.nan
    q1, q3 = np.quantile(values, (0.25, 0.75))
    reach = WHISKER * (q3 - q1)
    inside = values[(values >= q1 - reach) & (values <= q3 + reach)]
    return float(inside.min(initial=q1)), float(inside.max(initial=q3))


def box_numbers(values: pd.Series) -> dict[str, float]:
    """The quartiles and whiskers of the values that there are, by the names that forms know."""
    known = values.dropna().to_numpy(dtype=np.float64)
    q1, median, q3 = np.quantile(known, (0.25, 0.5, 0.75))
    low, high = whiskers(known)
    box = {"whisker_low": low, "q1": q1, "median": median, "q3": q3, "whisker_high": high}
    return {name: float(value) for name, value in box.items()}


def numbers(values: ArrayLike, what: str = "values") -> Values:
    """(n,) float64, each finite or NaN. An infinite one is refused: it has no mean."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise VeraxError(
            f"{what} must be numbers, NaN where there is none: {error}",
            code="statistics.bad-values",
        ) from error
    if array.ndim != 1:
        raise VeraxError(
            f"{what} must be one list of numbers, not of shape {array.shape}",
            code="statistics.bad-values",
        )
    if np.isinf(array).any():
        raise VeraxError(
            f"{what} must be finite, or NaN to be left out and counted: found ±inf",
            code="statistics.bad-values",
        )
    return array


def present(values: ArrayLike) -> tuple[Values, int]:
    """The values that are not NaN, and how many are.

    >>> present([1.0, float("nan"), 3.0])
    (array([1., 3.]), 1)
    """
    array = numbers(values)
    kept = array[~np.isnan(array)]
    return kept, len(array) - len(kept)


def both_present(a: ArrayLike, b: ArrayLike) -> tuple[Values, Values, int]:
    """The pairs without NaN on either side, and how many have one."""
    left, right = numbers(a, "the first values"), numbers(b, "the second values")
    if len(left) != len(right):
        raise VeraxError(
            f"pairs need as many values on each side, got {len(left)} and {len(right)}: "
            "align them, with NaN where one is missing",
            code="statistics.bad-values",
        )
    kept = ~(np.isnan(left) | np.isnan(right))
    return left[kept], right[kept], int((~kept).sum())


def is_constant(values: Values) -> bool:
    """Whether values differ by nothing, or by rounding alone (1e-12 of the largest)."""
    return bool(np.ptp(values) <= 1e-12 * np.abs(values).max()) if len(values) else True
