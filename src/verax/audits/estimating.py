"""Means over documents and seeds with intervals that allow for both."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from verax.statistics import bootstrap, bootstrap_seeds, describe

YES, NO, OPEN, ABSENT = "yes", "no", "inconclusive", "not applicable"
UNJUDGED = "no verdict"
PERCENT, POINTS, WORDS = (0.0, 100.0), (-100.0, 100.0), (0.0, math.inf)
"""Bounds of shares in percent, of differences between them, and of counts of words."""


@dataclass(frozen=True)
class Estimate:
    """A mean with its 95% interval.

    seeds  how many models; of one the interval is over its documents alone
    n      values of documents, over all seeds
    """

    value: float
    low: float
    high: float
    seeds: int
    n: int

    def beyond(self, limit: float) -> str:
        """Whether it lies above a limit: yes, no, or inconclusive."""
        if math.isnan(self.low) or math.isnan(self.high):
            return OPEN
        return YES if self.low > limit else NO if self.high < limit else OPEN


def estimate(
    samples: Sequence[ArrayLike], bounds: tuple[float, float] = (-math.inf, math.inf)
) -> Estimate | None:
    """The mean over seeds of the mean over documents; None without a value.

    The interval reaches as far as each of two does: the bootstrap over seeds and documents, and
    Student's over seeds. The first is too narrow of few seeds, the second leaves documents out.
    Of one seed it is the bootstrap over its documents.

    Args:
        samples: for each seed, the values of its documents; NaN is left out.
        bounds: the least and the most that the mean can be, where the interval ends at the latest.
    """
    kept = [np.asarray(one, dtype=np.float64) for one in samples]
    kept = [one[~np.isnan(one)] for one in kept]
    kept = [one for one in kept if len(one)]
    if not kept:
        return None
    n = sum(map(len, kept))
    if len(kept) == 1:
        alone = bootstrap(kept[0], resamples=2000)
        return Estimate(alone.value, alone.low, alone.high, 1, n)
    both = bootstrap_seeds(kept, resamples=2000)
    over = describe([float(one.mean()) for one in kept])
    low, high = np.clip([min(both.low, over.low), max(both.high, over.high)], *bounds).tolist()
    return Estimate(both.value, low, high, len(kept), n)


def over_models(
    numbers: Sequence[tuple[float, float, float]],
    bounds: tuple[float, float] = (-math.inf, math.inf),
) -> Estimate | None:
    """The mean of numbers that are no means over documents, one a seed, within bounds.

    Of one seed the interval is the number's own.
    """
    if not numbers:
        return None
    if len(numbers) == 1:
        return Estimate(*numbers[0], 1, 1)
    over = describe([value for value, _, _ in numbers])
    low, high = np.clip([over.low, over.high], *bounds).tolist()
    return Estimate(over.mean, low, high, len(numbers), len(numbers))
