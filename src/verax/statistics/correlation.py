"""Does a value move with a setting, such as λ?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import permutations

import numpy as np
from numpy.typing import ArrayLike

from verax.statistics.missing import Values, both_present, is_constant

EXACT = 8  # 8! = 40,320 orders


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
        if n <= EXACT:
            rho_p = _exact_p(stats.rankdata(left), stats.rankdata(right))
    return Correlations(tau, tau_p, rho, rho_p, pearson, pearson_p, n, excluded)


def _exact_p(x: Values, y: Values) -> float:
    """The share of orders of `y` whose covariance with `x` is at least as far from 0."""
    orders = y[np.array(list(permutations(range(len(y)))))]
    covariances = np.abs((orders - y.mean()) @ (x - x.mean()))
    # ranks and their mean are halves: no sum of these is rounded
    return float((covariances >= covariances[0]).mean())
