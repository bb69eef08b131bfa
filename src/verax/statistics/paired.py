"""Paired tests: two conditions on the same instances, or under the same seeds."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtr

from verax.errors import VeraxError, nearest
from verax.statistics.intervals import mean
from verax.statistics.missing import Values, both_present, is_constant

RESAMPLES = 9999
EXACT = 2**20  # sign patterns, of 20 pairs
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
    if 2 ** len(moved) <= EXACT:
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
