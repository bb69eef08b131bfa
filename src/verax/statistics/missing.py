"""Missing values: NaN is left out, and counted."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from verax.errors import VeraxError

Values = NDArray[np.float64]


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
