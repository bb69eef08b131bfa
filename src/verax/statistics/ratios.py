"""Numbers that are a sum over a sum: F1, and means pooled over what instances hold."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from verax.statistics.intervals import Interval, Values, mean

_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class RatioEstimate:
    """A number and what each instance adds to it, from which sums and differences are made.

    value      the number
    influence  (n,) its change, times n, as an instance gains weight: averages to zero, and
               sd(influence) / √n is the number's standard error (the delta method)
    """

    value: float
    influence: Values

    def __add__(self, other: RatioEstimate) -> RatioEstimate:
        return RatioEstimate(self.value + other.value, self.influence + other.influence)

    def __sub__(self, other: RatioEstimate) -> RatioEstimate:
        return self + other.times(-1.0)

    def times(self, factor: float) -> RatioEstimate:
        return RatioEstimate(factor * self.value, factor * self.influence)

    @property
    def interval(self) -> Interval:
        """The number with Student's interval; NaN ends where nothing but rounding moves it."""
        if math.isnan(self.value) or not (np.abs(self.influence) > _ROUNDING).any():
            return self.value, math.nan, math.nan
        centre, low, high = mean(self.influence)
        return self.value, self.value + low - centre, self.value + high - centre


def average(estimates: Sequence[RatioEstimate]) -> RatioEstimate:
    """The mean of several numbers over the same instances."""
    first = estimates[0]
    # as differences from the first, so that the mean of the same number is that number
    rest = sum((other - first for other in estimates[1:]), first.times(0.0))
    return first + rest.times(1 / len(estimates))


def share(values: Values) -> RatioEstimate:
    """A mean over instances."""
    return ratio(values, np.ones(len(values)))


def ratio(numerators: Values, denominators: Values) -> RatioEstimate:
    """Σ numerators / Σ denominators over instances; NaN if the denominators sum to zero.

    >>> ratio(np.array([1.0, 2.0]), np.array([2.0, 4.0])).value
    0.5
    """
    below = float(denominators.sum())
    if below == 0:
        return RatioEstimate(math.nan, np.zeros(len(numerators)))
    value = float(numerators.sum()) / below
    return RatioEstimate(value, (numerators - value * denominators) * (len(numerators) / below))


def f1(labels: ArrayLike, decided: ArrayLike, classes: int) -> RatioEstimate:
    """F1 of class 1 if there are two, else the mean over classes of each one's F1.

    Args:
        labels: (n,) the true classes; one that is NaN, not known, leaves no F1.
        decided: (n,) the classes decided for.
        classes: how many there are.

    F1 = Σ 2·tp / Σ (2·tp + fp + fn) is a ratio of sums over instances. A class without a label and
    without a decision has F1 0, as in scikit-learn with zero_division=0.
    """
    truth, predicted = np.asarray(labels, dtype=np.float64), np.asarray(decided, dtype=np.float64)
    if np.isnan(truth).any():
        return RatioEstimate(math.nan, np.zeros(len(truth)))
    each = []
    for name in [1] if classes == 2 else range(classes):
        is_one, says_one = truth == name, predicted == name
        one_f1 = ratio(2.0 * (is_one & says_one), is_one.astype(np.float64) + says_one)
        each.append(RatioEstimate(0.0, one_f1.influence) if math.isnan(one_f1.value) else one_f1)
    return average(each)
