"""Bootstrap intervals: over instances for any statistic, and over seeds and instances for a mean.

All are 95% intervals, fixed by `seed`; `batch` bounds memory and never changes a result.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from verax.errors import VeraxError, nearest
from verax.statistics.intervals import LEVEL, Values, is_constant, present

METHODS = ("bca", "percentile")
RESAMPLES = 9999
# numbers drawn at once, unless `batch` says otherwise: 8 MiB an array
_CELLS = 2**20


@dataclass(frozen=True)
class Bootstrapped:
    """A statistic with its bootstrap interval.

    low, high    NaN where there is none
    n, excluded  instances used, and those that are NaN
    method       how the interval was found: bca, percentile or none
    """

    value: float
    low: float
    high: float
    n: int
    excluded: int
    method: str


@dataclass(frozen=True)
class BootstrappedSeeds(Bootstrapped):
    """A mean over seeds with its bootstrap interval; seeds without a value are left out."""

    seeds: int
    seeds_excluded: int


def bootstrap(
    values: ArrayLike,
    statistic: Callable[..., Any] = np.mean,
    *,
    method: str = "bca",
    resamples: int = RESAMPLES,
    seed: int = 0,
    batch: int | None = None,
) -> Bootstrapped:
    """`statistic` of the values, with an interval over instances drawn with replacement.

    Args:
        values: the instances; NaN is left out and counted.
        statistic: values → number; fast if it takes `axis`, as NumPy's do.
        method: bca, corrected for bias and skewness (Efron 1987), or percentile.
        resamples: how many are drawn.
        seed: of the draws.
        batch: resamples held at once.

    BCa is undefined where leaving out any one value changes nothing; the interval is then the
    percentile one, and `method` says so. Fewer than two values have none.

    >>> median = bootstrap([2.0, 3.0, 5.0, 7.0, 11.0, float("nan")], np.median)
    >>> median.value, median.n, median.excluded, median.method
    (5.0, 5, 1, 'bca')
    """
    if method not in METHODS:
        raise VeraxError(
            f"unknown method {method!r}: {nearest(method, METHODS)}", code="option.unknown-value"
        )
    _check(resamples, batch)
    kept, excluded = present(values)
    n = len(kept)
    value = float(statistic(kept)) if n else math.nan
    if n < 2:
        return Bootstrapped(value, math.nan, math.nan, n, excluded, "none")
    if is_constant(kept):  # so is every resample
        return Bootstrapped(value, value, value, n, excluded, "percentile")

    from scipy import stats  # slow to import

    with warnings.catch_warnings(), np.errstate(divide="ignore", invalid="ignore"):
        warnings.simplefilter("ignore", stats.DegenerateDataWarning)
        drawn = stats.bootstrap(
            (kept,),
            statistic,
            n_resamples=resamples,
            batch=batch or max(1, _CELLS // n),
            confidence_level=LEVEL,
            method={"bca": "BCa", "percentile": "percentile"}[method],
            random_state=np.random.default_rng(seed),
        )
    low, high = (float(end) for end in drawn.confidence_interval)
    if method == "bca" and math.isnan(low + high):
        low, high, method = *_percentiles(drawn.bootstrap_distribution), "percentile"
    if math.isnan(low + high):
        low, high, method = math.nan, math.nan, "none"
    return Bootstrapped(value, low, high, n, excluded, method)


def bootstrap_seeds(
    samples: Sequence[ArrayLike],
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
    batch: int | None = None,
) -> BootstrappedSeeds:
    """The mean over seeds of each one's mean, with a percentile interval over both.

    Args:
        samples: the instances of each seed; NaN is left out and counted.
        resamples: how many are drawn.
        seed: of the draws.
        batch: drawn samples of one seed held at once.

    Each resample draws as many seeds as there are, with replacement, and from every seed drawn as
    many instances as it has, anew. Fewer than two seeds have no interval: use `bootstrap`, which
    speaks of the instances of one. Of few seeds it is too narrow, for it varies them by
    (seeds − 1) / seeds of their variance; Student's interval of `over_seeds` allows for that.

    >>> mean = bootstrap_seeds([[1.0, 1.0], [3.0, 3.0], [float("nan")]])
    >>> mean.value, mean.low, mean.high, mean.seeds, mean.seeds_excluded
    (2.0, 1.0, 3.0, 2, 1)
    """
    _check(resamples, batch)
    by_seed = [present(sample) for sample in samples]
    kept = [values for values, _ in by_seed if len(values)]
    n, excluded = sum(len(values) for values in kept), sum(count for _, count in by_seed)
    seeds, without = len(kept), len(by_seed) - len(kept)
    value = float(np.mean([values.mean() for values in kept])) if kept else math.nan
    if seeds < 2:
        return BootstrappedSeeds(value, math.nan, math.nan, n, excluded, "none", seeds, without)
    random = np.random.default_rng(seed)
    drawn = random.integers(seeds, size=resamples * seeds)
    means = np.empty(resamples * seeds)
    for number, values in enumerate(kept):
        places = np.flatnonzero(drawn == number)
        step = batch or max(1, _CELLS // len(values))
        for start in range(0, len(places), step):
            piece = places[start : start + step]
            instances = random.integers(len(values), size=(len(piece), len(values)))
            means[piece] = values[instances].mean(axis=1)
    low, high = _percentiles(means.reshape(resamples, seeds).mean(axis=1))
    return BootstrappedSeeds(value, low, high, n, excluded, "percentile", seeds, without)


def _percentiles(distribution: Values) -> tuple[float, float]:
    low, high = np.quantile(distribution, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def _check(resamples: int, batch: int | None) -> None:
    for name, number in (("resamples", resamples), ("batch", batch)):
        if number is not None and number < 1:
            raise VeraxError(f"{name} must be at least 1, got {number}", code="option.out-of-range")
