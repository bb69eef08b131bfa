"""Many tests at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from verax.errors import VeraxError
from verax.statistics.missing import numbers


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
