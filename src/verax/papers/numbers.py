"""A number with where it came from: its seeds, its interval, and the cells behind it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import stdtrit

from verax.statistics import describe
from verax.statistics.intervals import LEVEL

SEEDS, DOCUMENTS = "seeds", "documents"


@dataclass(frozen=True)
class Number:
    """A mean over seeds.

    value      the mean of `values`, one for each seed
    sd         over seeds; NaN for one
    low, high  95% interval: Student's over seeds, with one seed that of the cell itself
    over       what the interval is over: seeds, or documents; none where there is no interval
    n          documents behind each seed's value, at most
    cells      keys of the cells, in the order of `values`
    """

    value: float
    sd: float
    low: float
    high: float
    over: str
    n: int
    values: tuple[float, ...] = field(repr=False)
    cells: tuple[str, ...] = field(repr=False)

    @classmethod
    def of(
        cls,
        values: Sequence[float],
        cells: Sequence[str],
        n: int = 0,
        interval: tuple[float, float] = (math.nan, math.nan),
    ) -> Number:
        """From a value a seed; `interval` is a single cell's own, over its documents."""
        found = describe(values)
        low, high, over = found.low, found.high, SEEDS
        if found.n == 1:
            low, high = interval
            over = DOCUMENTS
        if math.isnan(low) or math.isnan(high):
            over = "none"
        return cls(found.mean, found.sd, low, high, over, n, tuple(values), tuple(cells))

    @property
    def seeds(self) -> int:
        return int(np.isfinite(self.values).sum())

    @property
    def error(self) -> float:
        """The standard error: over seeds, or as the documents' interval has it."""
        if self.over == SEEDS:
            return self.sd / math.sqrt(self.seeds)
        return (self.high - self.low) / (2 * NORMAL)

    def is_beyond(self, published: float, runs: int) -> bool | None:
        """Whether a published mean of so many runs is farther than seeds explain.

        That is, outside the 95% interval in which the mean of `runs` other seeds would fall, were
        theirs spread as ours. None where there are not two seeds, or nothing published.
        """
        if math.isnan(published) or self.seeds < 2 or math.isnan(self.value):
            return None
        t = float(stdtrit(self.seeds - 1, 0.5 + LEVEL / 2))
        reach = t * self.sd * math.sqrt(1 / runs + 1 / self.seeds)
        return bool(abs(published - self.value) > reach + 1e-9)

    def told(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "value": plain(self.value),
            "sd": plain(self.sd),
            "low": plain(self.low),
            "high": plain(self.high),
            "over": self.over,
            "seeds": self.seeds,
            "n": self.n,
            "cells": list(self.cells),
        }


NORMAL = 1.959963984540054


def plain(value: float) -> float | None:
    """A number that JSON has; None for NaN and the infinite."""
    return float(value) if math.isfinite(value) else None
