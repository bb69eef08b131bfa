"""Where an axis ends."""

from __future__ import annotations

import math


def reach(most: float) -> float:
    """A round number a little beyond the largest value, so that no mark is cut.

    >>> reach(0.37), reach(8.2), reach(96)
    (0.38, 8.4, 98.0)
    """
    if not math.isfinite(most) or most <= 0:
        return 1.0
    step = 10 ** math.floor(math.log10(most)) / 5
    return round(math.ceil(most * 1.02 / step) * step, 9)
