"""Tests of a difference or a correlation, and their correction for testing several at once."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import permutations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtr, stdtrit

from verax.errors import VeraxError, nearest
from verax.statistics.intervals import (
    LEVEL,
    Values,
    both_present,
    is_constant,
    mean,
    numbers,
    present,
)

RESAMPLES = 9999
EXACT_FLIPS = 2**20  # sign patterns, of 20 pairs
# numbers drawn at once: 8 MiB
_CELLS = 2**20
_LARGE = 900
"""The power of two beyond which differences are scaled."""
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Paired:
    """The mean difference of pairs, and its test.

    difference   mean of a − b
    low, high    its 95% interval, Student's, whatever the test; NaN for fewer than two pairs
    p            two-sided; NaN where the test is undefined
    n, excluded  pairs used, and those of which either is NaN
    """

    difference: float
    low: float
    high: float
    p: float
    n: int
    excluded: int
    test: str


def paired(
    a: ArrayLike,
    b: ArrayLike,
    test: str = "wilcoxon",
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Paired:
    """The mean of a − b over pairs, with a test; a[i] and b[i] are the same instance, or seed.

    Args:
        a: one value a pair; a pair with NaN is left out and counted.
        b: the other.
        test: one of these.
            t: Student's on the differences; undefined where all are the same but not zero.
            wilcoxon: signed ranks, exact for up to 50 differences without ties, or up to 13 with,
            and normal beyond; zero differences take no rank.
            permutation: the mean difference under all flips of signs, exact for up to 20
            differences that are not zero; beyond, (1 + as far) / (1 + resamples) of random flips.
        resamples: random flips of a permutation test.
        seed: of these.

    Differences below 1e-12 of their pair are rounding, and taken for zero. Where all are zero
    p is 1.

    >>> paired([0.8, 0.7, 0.9, 0.8], [0.7, 0.5, 0.6, 0.4], "permutation").p
    0.125
    """
    if test not in TESTS:
        raise VeraxError(
            f"unknown test {test!r}: {nearest(test, TESTS)}", code="option.unknown-value"
        )
    if resamples < 1:
        raise VeraxError(
            f"resamples must be at least 1, got {resamples}", code="option.out-of-range"
        )
    left, right, excluded = both_present(a, b)
    rounding = _ROUNDING * np.maximum(np.abs(left), np.abs(right))
    with np.errstate(over="ignore"):
        differences = left - right
    if np.isinf(differences).any():
        raise VeraxError(
            "values are too large: the difference of a pair is beyond any number",
            code="statistics.bad-values",
        )
    differences[np.abs(differences) <= rounding] = 0.0
    if not len(differences):
        p = math.nan
    elif not differences.any():
        p = 1.0
    else:
        # no test depends on the scale, but sums near the largest number are beyond it
        top = int(np.frexp(np.abs(differences).max())[1])
        scaled = np.ldexp(differences, -top) if top > _LARGE else differences
        p = TESTS[test](scaled, resamples, seed)
    return Paired(*mean(differences), p, len(differences), excluded, test)


def _t(differences: Values, resamples: int, seed: int) -> float:
    if len(differences) < 2 or is_constant(differences):
        return math.nan
    # t does not depend on the scale, but the square of a tiny difference is zero
    scaled = differences / np.abs(differences).max()
    t = scaled.mean() / (scaled.std(ddof=1) / math.sqrt(len(scaled)))
    return float(2 * stdtr(len(scaled) - 1, -abs(t)))


def _wilcoxon(differences: Values, resamples: int, seed: int) -> float:
    from scipy import stats  # slow to import

    return float(stats.wilcoxon(_significant(differences[differences != 0])).pvalue)


def _significant(values: Values, bits: int = 30) -> Values:
    """Values to so many binary digits (30: nine decimal), so that 0.3 − 0.2 and 0.2 − 0.1 tie."""
    mantissa, exponent = np.frexp(values)
    return np.ldexp(np.round(np.ldexp(mantissa, bits)), exponent - bits)


def _permutation(differences: Values, resamples: int, seed: int) -> float:
    moved = differences[differences != 0]  # a zero is the same with either sign
    far = abs(moved.sum()) - _ROUNDING * np.abs(moved).sum()
    if 2 ** len(moved) <= EXACT_FLIPS:
        sums = moved[:1]  # by symmetry, one sign need not be flipped
        for difference in moved[1:]:
            sums = np.concatenate([sums + difference, sums - difference])
        return float((np.abs(sums) >= far).mean())
    random = np.random.default_rng(seed)
    step = max(1, _CELLS // len(moved))
    count = 0
    for start in range(0, resamples, step):
        shape = (min(step, resamples - start), len(moved))
        # the sum with random signs: all, less twice those that are flipped
        sums = moved.sum() - 2 * ((random.random(shape) < 0.5) @ moved)
        count += int((np.abs(sums) >= far).sum())
    return (1 + count) / (1 + resamples)


TESTS: dict[str, Callable[[Values, int, int], float]] = {
    "permutation": _permutation,
    "t": _t,
    "wilcoxon": _wilcoxon,
}
"""The tests of `paired`, by name."""


@dataclass(frozen=True)
class Welch:
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


def welch(a: ArrayLike, b: ArrayLike) -> Welch:
    """The difference of the means of a and b with Welch's (1947) test; variances may differ.

    Args:
        a: values of the first group; NaN is left out and counted.
        b: values of the second group.

    t = (mean a − mean b) / s with s² = s_a²/n_a + s_b²/n_b, on Welch–Satterthwaite degrees of
    freedom ν = s⁴ / Σ [(s_g²/n_g)² / (n_g − 1)], and the interval is the difference ± t_ν s.

    A group that is constant but for rounding has s_g = 0, and the other alone gives the spread.
    Where both are constant nothing tells how far chance would move them: there is no interval,
    and p is 1 if they are the same, else NaN.

    >>> test = welch([0.8, 0.9, 0.7], [0.5, 0.6, 0.4, 0.5])
    >>> round(test.difference, 3), round(test.p, 4)
    (0.3, 0.0143)
    """
    (left, out_a), (right, out_b) = present(a), present(b)
    size = max((float(np.abs(side).max()) for side in (left, right) if len(side)), default=0.0)
    size = size or 1.0  # t does not depend on the scale, but the square of a tiny value is zero
    left, right = left / size, right / size
    difference = float(left.mean() - right.mean()) if len(left) and len(right) else math.nan
    difference = 0.0 if abs(difference) <= _ROUNDING else difference
    half, p = _spread(difference, left, right)
    low, high = size * (difference - half), size * (difference + half)
    return Welch(size * difference, low, high, p, len(left), len(right), excluded=out_a + out_b)


def _spread(difference: float, left: Values, right: Values) -> tuple[float, float]:
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


def holm(p: ArrayLike) -> NDArray[np.float64]:
    """Holm's (1979) step-down adjusted p-values, in the order given.

    With p₍₁₎ ≤ … ≤ p₍ₘ₎ the adjusted p₍ᵢ₎ is max over j ≤ i of (m − j + 1) p₍ⱼ₎, at most 1. Those
    below α may be rejected together, with a chance of at most α that any is so wrongly, whatever
    the tests' dependence. NaN, a test that was not made, stays NaN and is not among the m.

    >>> holm([0.01, 0.04, 0.03, float("nan")])
    array([0.03, 0.06, 0.06,  nan])
    """
    values = numbers(p, "p-values")
    made = np.flatnonzero(~np.isnan(values))
    if ((values[made] < 0) | (values[made] > 1)).any():
        raise VeraxError(
            "p-values must lie between 0 and 1, or be NaN", code="statistics.bad-values"
        )
    rising = made[np.argsort(values[made], kind="stable")]
    steps = values[rising] * np.arange(len(rising), 0, -1)
    adjusted = np.full(len(values), np.nan)
    adjusted[rising] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted


EXACT_ORDERS = 8  # 8! = 40,320


@dataclass(frozen=True)
class Correlations:
    """Three correlations with two-sided p-values against none; NaN where undefined.

    tau          Kendall's τ-b: concordant less discordant pairs, ties allowed for
    spearman     Pearson's of the ranks
    pearson      of the values, a straight line
    n, excluded  pairs used, and those of which either is NaN
    """

    tau: float
    tau_p: float
    spearman: float
    spearman_p: float
    pearson: float
    pearson_p: float
    n: int
    excluded: int


def correlations(x: ArrayLike, y: ArrayLike) -> Correlations:
    """τ-b, Spearman's ρ and Pearson's r of pairs, each with its p-value.

    Args:
        x: one value a pair; a pair with NaN is left out and counted.
        y: the other.

    p-values are SciPy's (τ-b exact for few pairs without ties, Pearson's for normal values), but
    for Spearman's of at most 8 pairs, which goes through all orders: Student's approximation
    calls three settings in order certain. Fewer than two pairs, or a side that is constant, have
    no correlation: NaN.

    >>> result = correlations([0, 1, 2, 3], [0.1, 0.2, 0.4, 0.8])
    >>> result.tau, round(result.tau_p, 3), result.spearman, round(result.spearman_p, 3)
    (1.0, 0.083, 1.0, 0.083)
    """
    left, right, excluded = both_present(x, y)
    n = len(left)
    if n < 2 or is_constant(left) or is_constant(right):
        nothing = (math.nan,) * 6
        return Correlations(*nothing, n, excluded)

    from scipy import stats  # slow to import

    with np.errstate(all="ignore"):
        tau, tau_p = map(float, stats.kendalltau(left, right))
        rho, rho_p = map(float, stats.spearmanr(left, right))
        pearson, pearson_p = map(float, stats.pearsonr(left, right))
        if n <= EXACT_ORDERS:
            rho_p = _exact_p(stats.rankdata(left), stats.rankdata(right))
    return Correlations(tau, tau_p, rho, rho_p, pearson, pearson_p, n, excluded)


def _exact_p(x: Values, y: Values) -> float:
    """The share of orders of `y` whose covariance with `x` is at least as far from 0."""
    orders = y[np.array(list(permutations(range(len(y)))))]
    covariances = np.abs((orders - y.mean()) @ (x - x.mean()))
    # ranks and their mean are halves: no sum of these is rounded
    return float((covariances >= covariances[0]).mean())
