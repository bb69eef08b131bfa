"""A number of a summary, and what its interval is over."""

from __future__ import annotations

import math
from dataclasses import dataclass

DOCUMENTS, SEEDS = "documents", "seeds"
"""What intervals are over."""
ENOUGH = 20
"""Documents from which on an interval without width, of values that are all the same, says
something of others."""


@dataclass(frozen=True)
class Number:
    """A number of a summary: its 95% interval is NaN where it has none.

    unit  count, percent, points or number, as in a verdict's summary
    over  what the interval is over: documents or seeds
    """

    value: float
    low: float = math.nan
    high: float = math.nan
    n: int = 0
    unit: str = "number"
    over: str = DOCUMENTS

    @property
    def has_interval(self) -> bool:
        return not (math.isnan(self.low) or math.isnan(self.high))

    @property
    def is_sure(self) -> bool:
        """Whether its interval can be compared with a limit: it exists, and not by chance alone."""
        return self.has_interval and (self.high > self.low or self.n >= ENOUGH)

    def is_above(self, limit: float) -> bool:
        """Whether all of its interval is above a limit; never so without an interval."""
        return self.is_sure and self.low > limit

    def is_below(self, limit: float) -> bool:
        """Whether all of its interval is below a limit; never so without an interval."""
        return self.is_sure and self.high < limit
