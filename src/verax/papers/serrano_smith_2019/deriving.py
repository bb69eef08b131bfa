"""Numbers made of numbers of the same cells, seed by seed: sums and shares."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from verax.papers.numbers import NORMAL, Number
from verax.statistics import proportion

_Values = NDArray[np.float64]


def combined(parts: Sequence[tuple[float, Number]]) -> Number:
    """Σ c·x.

    Over seeds it spreads as the sum itself does. With one seed its error is that of independent
    numbers, √Σ(c·error)²: a little too wide for numbers of the same documents that rise together.
    """
    cells, columns = _aligned([number for _, number in parts])
    values = sum((c * column for (c, _), column in zip(parts, columns, strict=True)), start=0.0)
    error = math.sqrt(sum((c * number.error) ** 2 for c, number in parts))
    there = np.asarray(values)[~np.isnan(values)]
    centre = float(there.mean()) if len(there) else math.nan
    interval = (centre - NORMAL * error, centre + NORMAL * error)
    n = max(number.n for _, number in parts)
    return Number.of(np.asarray(values).tolist(), cells, n, interval)


def difference(a: Number, b: Number) -> Number:
    """a − b of two models, seed by seed in their order; it is known by the cells of a."""
    seeds = min(len(a.values), len(b.values))
    values = [x - y for x, y in zip(a.values[:seeds], b.values[:seeds], strict=True)]
    half = NORMAL * math.hypot(a.error, b.error)
    centre = a.value - b.value
    return Number.of(values, a.cells[:seeds], min(a.n, b.n), (centre - half, centre + half))


def percent(hits: Sequence[Number], of: Sequence[Number]) -> Number:
    """Σ hits of Σ of, which are counts, in percent; with one seed the interval is Wilson's.

    NaN for seeds that have nothing to count.
    """
    cells, columns = _aligned([*hits, *of])
    counts = np.array(columns)
    counted, whole = counts[: len(hits)].sum(0), counts[len(hits) :].sum(0)
    values = np.full(len(cells), math.nan)
    np.divide(100 * counted, whole, out=values, where=whole > 0)
    interval = (math.nan, math.nan)
    if np.isfinite(values).sum() == 1:
        place = int(np.flatnonzero(np.isfinite(values))[0])
        _, low, high = proportion(round(counted[place]), round(whole[place]))
        interval = (100 * low, 100 * high)
    return Number.of(values.tolist(), cells, round(float(np.max(whole, initial=0))), interval)


def as_count(number: Number) -> Number:
    """A percentage of n documents as so many documents."""
    return combined([(number.n / 100, number)])


def _aligned(numbers: Sequence[Number]) -> tuple[list[str], list[_Values]]:
    """The cells that all have, and each number's values there."""
    cells = [c for c in numbers[0].cells if all(c in number.cells for number in numbers)]
    columns = []
    for number in numbers:
        values = dict(zip(number.cells, number.values, strict=True))
        columns.append(np.array([values[c] for c in cells], dtype=np.float64))
    return cells, columns
