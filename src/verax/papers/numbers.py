"""Means over seeds, with their intervals and the cells behind them."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from verax.statistics import describe
from verax.statistics.intervals import LEVEL

SEEDS, DOCUMENTS = "seeds", "documents"
BOTH = "both"
"""The value of `over` in tables where `low` and `high` are the values of two seeds."""


@dataclass(frozen=True)
class SeedMean:
    """A mean over seeds.

    value      the mean of `values`, one for each seed
    sd         over seeds; NaN for one
    low, high  95% interval: Student's over seeds; with one seed, that of the cell
    over       seeds or documents, whichever the interval is over; none without an interval
    n          the most documents behind a seed's value
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
    ) -> SeedMean:
        """The mean of one value per seed; `interval` is that of a single cell, over documents."""
        over_seeds = describe(values)
        low, high, over = over_seeds.low, over_seeds.high, SEEDS
        if over_seeds.n == 1:
            low, high = interval
            over = DOCUMENTS
        if math.isnan(low) or math.isnan(high):
            over = "none"
        mean, sd = over_seeds.mean, over_seeds.sd
        return cls(mean, sd, low, high, over, n, tuple(values), tuple(cells))

    @property
    def seeds(self) -> int:
        """The number of seeds with a value."""
        return int(np.isfinite(self.values).sum())

    def scaled(self, factor: float) -> SeedMean:
        """The number times a factor; of one seed it has no interval."""
        return SeedMean.of([factor * value for value in self.values], self.cells, self.n)

    def is_beyond(self, published: float, runs: int) -> bool | None:
        """Whether a published mean of so many runs is farther than seeds explain.

        It is if it lies outside the 95% interval for the mean of `runs` other seeds, were theirs
        spread as ours. None without two seeds, or without a published number.
        """
        if math.isnan(published) or self.seeds < 2 or math.isnan(self.value):
            return None
        t = float(stdtrit(self.seeds - 1, 0.5 + LEVEL / 2))
        reach = t * self.sd * math.sqrt(1 / runs + 1 / self.seeds)
        return bool(abs(published - self.value) > reach + 1e-9)

    def to_dict(self) -> dict[str, Any]:
        """The number as JSON and tables have it.

        Of two seeds it has both values in place of the interval, which is often wider than the
        number can vary.
        """
        names = ("value", "sd", "low", "high", "over", "seeds", "n", "cells")
        ends = {}
        if self.seeds == 2:
            values = [value for value in self.values if math.isfinite(value)]
            ends = {"low": min(values), "high": max(values), "over": BOTH}
        return {name: getattr(self, name) for name in names} | ends


def as_json(values: Any, digits: int = 17) -> str:
    """JSON with numbers of so many digits, and null for NaN and infinities."""

    def plain(value: Any) -> Any:
        if isinstance(value, float):
            return float(f"{value:.{digits}g}") if math.isfinite(value) else None
        if isinstance(value, Mapping):
            return {name: plain(one) for name, one in value.items()}
        return [plain(one) for one in value] if isinstance(value, list | tuple) else value

    return json.dumps(plain(values), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def combined(parts: Sequence[tuple[float, SeedMean]]) -> SeedMean:
    """The sum Σ c·x of numbers x, seed by seed."""
    cells, columns = _aligned([number for _, number in parts])
    values = sum((c * column for (c, _), column in zip(parts, columns, strict=True)), start=0.0)
    return SeedMean.of(np.asarray(values).tolist(), cells, max(number.n for _, number in parts))


def difference(a: SeedMean, b: SeedMean) -> SeedMean:
    """a − b of two models, seed by seed in their order, with the cells of a."""
    seeds = min(len(a.values), len(b.values))
    values = [x - y for x, y in zip(a.values[:seeds], b.values[:seeds], strict=True)]
    return SeedMean.of(values, a.cells[:seeds], min(a.n, b.n))


def percent(hits: Sequence[SeedMean], of: Sequence[SeedMean]) -> SeedMean:
    """Σ hits of Σ of, which are counts, in percent; NaN for seeds with nothing to count."""
    cells, columns = _aligned([*hits, *of])
    counts = np.array(columns)
    counted, whole = counts[: len(hits)].sum(0), counts[len(hits) :].sum(0)
    values = np.full(len(cells), math.nan)
    np.divide(100 * counted, whole, out=values, where=whole > 0)
    return SeedMean.of(values.tolist(), cells, round(float(np.max(whole, initial=0))))


def _aligned(numbers: Sequence[SeedMean]) -> tuple[list[str], list[NDArray[np.float64]]]:
    """The cells that all numbers have, and each number's values for them."""
    cells = [c for c in numbers[0].cells if all(c in number.cells for number in numbers)]
    columns = []
    for number in numbers:
        values = dict(zip(number.cells, number.values, strict=True))
        columns.append(np.array([values[c] for c in cells], dtype=np.float64))
    return cells, columns
