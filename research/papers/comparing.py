"""Comparisons of two numbers, or of one with a bound, over seeds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from research.papers.numbers import SEEDS, SeedMean
from verax.statistics import welch


@dataclass(frozen=True)
class PaperComparison:
    """A difference that a claim says is above zero.

    difference  first less second, and less any margin
    low, high   its 95% interval over seeds; NaN if a side has one seed
    a, b        the two numbers; b is None where a is compared with a bound
    values      axis → the name of its value there
    """

    label: str
    difference: float
    low: float
    high: float
    a: SeedMean
    b: SeedMean | None = None
    values: Mapping[str, str] = field(default_factory=dict)

    @property
    def corpus(self) -> str:
        return self.values.get("corpus", "")

    @property
    def is_for(self) -> bool:
        return self.difference > 0

    @property
    def is_clearly_for(self) -> bool:
        return self.low > 0

    @property
    def is_clearly_against(self) -> bool:
        return self.high < 0

    def to_dict(self) -> dict[str, Any]:
        """The comparison as JSON has it."""
        numbers = {name: getattr(self, name) for name in ("label", "difference", "low", "high")}
        b = None if self.b is None else self.b.to_dict()
        return {**numbers, "a": self.a.to_dict(), "b": b}


def larger(label: str, a: SeedMean, b: SeedMean, by: float = 0.0) -> PaperComparison:
    """The comparison a > b + `by`.

    Two numbers of the same models are compared seed by seed, with Student's interval; numbers of
    different models with Welch's.
    """
    if a.over == SEEDS == b.over and a.cells == b.cells:
        pairs = zip(a.values, b.values, strict=True)
        paired = above(label, SeedMean.of([x - y for x, y in pairs], a.cells), by)
        return replace(paired, a=a, b=b)
    difference, low, high = a.value - b.value - by, math.nan, math.nan
    if a.over == SEEDS == b.over:
        if a.is_constant and b.is_constant:
            difference = 0.0 if math.isclose(a.value, b.value + by, rel_tol=1e-12) else difference
            low = high = difference
        else:
            test = welch(a.values, np.asarray(b.values) + by)
            difference, low, high = test.difference, test.low, test.high
    return PaperComparison(label, difference, low, high, a, b)


def above(label: str, a: SeedMean, bound: float) -> PaperComparison:
    """The comparison a > `bound`, with Student's interval."""
    difference, low, high = a.value - bound, math.nan, math.nan
    if math.isclose(a.value, bound, rel_tol=1e-12):
        difference = 0.0
    if a.over == SEEDS:
        low, high = a.low - bound, a.high - bound
        if a.is_constant:
            low = high = difference
    return PaperComparison(label, difference, low, high, a)


def below(label: str, a: SeedMean, bound: float) -> PaperComparison:
    """The comparison a < `bound`; its difference is the bound less a."""
    other = above(label, a, bound)
    return PaperComparison(label, -other.difference, -other.high, -other.low, a)
