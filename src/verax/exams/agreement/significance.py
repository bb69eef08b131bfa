"""How likely chance is to order pairs as far alike: p-values of Kendall's τ, for many rows at once.

The null hypothesis is that all orders of b are equally likely, whatever a is; p-values are
two-sided. Which of the two ways is taken, and the variance, are those of `scipy.stats.kendalltau`.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from scipy.special import gammaln, ndtr

from verax.exams.agreement.counting import Bools, Floats, Ints, PairCounts, pairs_of

EXACT = 33
"""Up to so many positions without ties the null distribution is taken as it is."""


def p_values(counts: PairCounts) -> Floats:
    """(rows,): exact where that is cheap, else by the normal approximation; NaN where τ-b is.

    `counts` must have its triples.
    """
    n, pairs = counts.positions, counts.pairs
    untied = (counts.tied_a == 0) & (counts.tied_b == 0)
    # without ties: the pairs out of order, or those in order, whichever are fewer
    fewer = (pairs - np.abs(counts.balance)) // 2
    exact = untied & ((n <= EXACT) | (fewer <= 1))
    p = np.full(n.shape, np.nan)
    p[exact] = _exact(n[exact], fewer[exact])
    rest = ~exact & (counts.tied_a < pairs) & (counts.tied_b < pairs)
    p[rest] = _approximate(counts, rest)
    p[n < 2] = np.nan
    return p


def _exact(n: Ints, fewer: Ints) -> Floats:
    """Twice the share of the n! orders that have so few inversions."""
    small = np.minimum(n, EXACT)
    tabled = _tails()[small, np.minimum(fewer, pairs_of(small) // 2)]
    # one order has no inversion and n − 1 have one: 2 / n! and 2 n / n!
    extreme = np.exp(math.log(2) - gammaln(n + 1.0 - np.minimum(fewer, 1)))
    return np.where(n <= EXACT, tabled, extreme)


@cache
def _tails() -> Floats:
    """[n, c]: twice the share of the orders of n with at most c inversions, at most 1.

    The last of n positions can stand before any number of the others, 0 to n − 1, and each is as
    likely: that many inversions come to those of the others. Only shares are added, so that the
    smallest is as precise as the largest.
    """
    width = int(pairs_of(np.array(EXACT))) // 2 + 1
    tails_of = np.ones((EXACT + 1, width))
    shares = np.ones(1)
    for n in range(2, EXACT + 1):
        shares = np.convolve(shares, np.full(n, 1 / n))
        tails = np.minimum(1.0, 2 * shares.cumsum())[:width]
        tails_of[n, : len(tails)] = tails
    return tails_of


def _approximate(counts: PairCounts, rows: Bools) -> Floats:
    """The balance of pairs is nearly normal; in SciPy's terms x0 is 6 triples, x1 2 x0 + 18 ties.

    Some positions are untied and some tied, or there are more than `EXACT`: n is at least 3.
    """
    n, pairs, tied_a, tied_b, triples_a, triples_b, balance = (
        column[rows].astype(float) for column in counts
    )
    ordered = 2 * pairs
    variance = (
        (ordered * (2 * n + 5) - 12 * (triples_a + triples_b)) / 18
        - (tied_a + tied_b)
        + 2 * tied_a * tied_b / ordered
        + 4 * triples_a * triples_b / (ordered * (n - 2))
    )
    return np.asarray(2 * ndtr(-np.abs(balance) / np.sqrt(variance)))
