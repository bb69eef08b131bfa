"""Means over random seeds: of one number (`SeedMean`), and of every group of a tidy table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

from verax.errors import VeraxError, nearest
from verax.statistics.intervals import (
    LEVEL,
    Values,
    is_constant,
    mean,
    mean_and_sd,
    numbers,
    present,
)

COLUMNS = ["mean", "sd", "low", "high", "seeds", "seeds_excluded", "n", "excluded"]
UNSAID = "no reason given"
EXCLUDED = "excluded: "
"""How columns begin that count what has no value, by reason."""


@dataclass(frozen=True)
class Description:
    """A mean with its spread.

    sd         standard deviation, over n − 1; NaN for fewer than two values
    low, high  Student's 95% interval; NaN for fewer than two values
    n          the values that are there
    excluded   those that are not
    """

    mean: float
    sd: float
    low: float
    high: float
    n: int
    excluded: int


def describe(values: ArrayLike) -> Description:
    """The mean and spread of values, such as the instances of one seed.

    >>> describe([1.0, 2.0, 3.0, float("nan")])
    Description(mean=2.0, sd=1.0, low=-0.484..., high=4.484..., n=3, excluded=1)
    """
    kept, excluded = present(values)
    centre, low, high = mean(kept)
    sd = mean_and_sd(kept)[1] if len(kept) > 1 else math.nan
    return Description(centre, sd, low, high, len(kept), excluded)


_ROUNDING = 1e-9
"""Values of seeds that differ by no more are equal."""
SEEDS, DOCUMENTS, BOTH, NONE = "seeds", "documents", "both", "none"


@dataclass(frozen=True)
class SeedMean:
    """The mean of a number over random seeds, with its 95% interval.

    Attributes:
        value: the mean of `values`.
        sd: their standard deviation, over seeds − 1; NaN for a single seed.
        low, high: Student's interval over seeds; for a single seed, its interval over documents.
        over: what the interval is over: "seeds", "documents", or "none" without an interval.
        n: the largest number of documents behind a seed's value.
        values: one value per seed; NaN where a seed has none.
        cells: the keys of the cells the values come from, in the order of `values`.

    >>> number = SeedMean.of([0.7, 0.8, 0.9], cells=["a", "b", "c"])
    >>> round(number.value, 3), round(number.low, 3), round(number.high, 3), number.over
    (0.8, 0.552, 1.048, 'seeds')
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
        cells: Sequence[str] = (),
        n: int = 0,
        interval: tuple[float, float] | None = None,
    ) -> SeedMean:
        """Return the mean of one value per seed.

        Args:
            values: one value per seed; NaN is left out.
            cells: the keys of their cells.
            n: documents behind a value.
            interval: the interval over documents, used if only one seed has a value.
        """
        described = describe(values)
        low, high, over = described.low, described.high, SEEDS
        if described.n == 1:
            low, high = interval or (math.nan, math.nan)
            over = DOCUMENTS
        if math.isnan(low) or math.isnan(high):
            over = NONE
        mean, sd = described.mean, described.sd
        return cls(mean, sd, low, high, over, n, tuple(values), tuple(cells))

    @classmethod
    def of_intervals(
        cls,
        values: Sequence[float],
        intervals: Sequence[tuple[float, float]],
        bounds: tuple[float, float] = (-math.inf, math.inf),
        cells: Sequence[str] = (),
        n: int = 0,
    ) -> SeedMean:
        """Return the mean of one number per seed, each with its interval over documents.

        Student's interval needs two seeds whose values differ by more than rounding. Otherwise the
        interval is over documents, from the lowest end of any seed's to the highest, if all seeds
        with a value have one.

        Args:
            values: one value per seed; NaN is left out.
            intervals: the interval of each value over documents.
            bounds: the least and the most that the number can be: Student's interval ends there.
            cells: the keys of their cells.
            n: documents behind a value.

        >>> number = SeedMean.of_intervals([0.9, 0.9], [(0.8, 0.95), (0.85, 1.0)])
        >>> number.low, number.high, number.over
        (0.8, 1.0, 'documents')
        """
        number = cls.of(values, cells, n)
        kept = [ends for value, ends in zip(values, intervals, strict=True) if value == value]
        valued = present(values)[0]
        if number.seeds > 1 and np.ptp(valued) > _ROUNDING:
            low = min(max(number.low, bounds[0]), number.value)
            high = max(min(number.high, bounds[1]), number.value)
            return replace(number, low=low, high=high)
        ends = np.array(kept, dtype=np.float64).reshape(-1, 2)
        low, high = (ends[:, 0].min(), ends[:, 1].max()) if len(ends) else (math.nan, math.nan)
        over = NONE if math.isnan(low) or math.isnan(high) else DOCUMENTS
        return replace(number, low=float(low), high=float(high), over=over)

    @property
    def seeds(self) -> int:
        """The number of seeds with a value."""
        return int(np.isfinite(self.values).sum())

    @property
    def is_constant(self) -> bool:
        """Whether the seeds agree but for rounding, so that they carry no spread."""
        return is_constant(present(self.values)[0])

    def scaled(self, factor: float) -> SeedMean:
        """Return the number times a factor; the interval over documents is dropped."""
        return SeedMean.of([factor * value for value in self.values], self.cells, self.n)

    def difference(self, other: SeedMean) -> SeedMean:
        """Return self − other, seed by seed in their order, with the cells of self."""
        seeds = min(len(self.values), len(other.values))
        pairs = zip(self.values[:seeds], other.values[:seeds], strict=True)
        return SeedMean.of([a - b for a, b in pairs], self.cells[:seeds], min(self.n, other.n))

    @staticmethod
    def combined(parts: Sequence[tuple[float, SeedMean]]) -> SeedMean:
        """Return the sum Σ c·x over pairs (c, x), cell by cell, of the cells that all x have."""
        cells, columns = _aligned([number for _, number in parts])
        values = sum((c * column for (c, _), column in zip(parts, columns, strict=True)), start=0.0)
        return SeedMean.of(np.asarray(values).tolist(), cells, max(x.n for _, x in parts))

    @staticmethod
    def percent(hits: Sequence[SeedMean], of: Sequence[SeedMean]) -> SeedMean:
        """Return the counts Σ hits as a percentage of the counts Σ of, cell by cell.

        A seed with nothing to count has NaN.
        """
        cells, columns = _aligned([*hits, *of])
        counts = np.array(columns)
        counted, whole = counts[: len(hits)].sum(0), counts[len(hits) :].sum(0)
        values = np.full(len(cells), math.nan)
        np.divide(100 * counted, whole, out=values, where=whole > 0)
        return SeedMean.of(values.tolist(), cells, round(float(np.max(whole, initial=0))))

    def is_beyond(self, published: float, runs: int) -> bool | None:
        """Return whether a published mean of `runs` runs differs by more than seeds explain.

        True if it lies outside the 95% prediction interval for the mean of `runs` further seeds
        with the same spread. None with fewer than two seeds or without a published number.
        """
        if math.isnan(published) or self.seeds < 2 or math.isnan(self.value):
            return None
        t = float(stdtrit(self.seeds - 1, 0.5 + LEVEL / 2))
        reach = t * self.sd * math.sqrt(1 / runs + 1 / self.seeds)
        return bool(abs(published - self.value) > reach + 1e-9)

    def to_dict(self) -> dict[str, Any]:
        """Return the number for JSON and tables.

        With two seeds, low and high are their two values and `over` is "both": Student's interval
        of two values is often wider than the number can vary.
        """
        names = ("value", "sd", "low", "high", "over", "seeds", "n", "cells")
        ends = {}
        if self.seeds == 2:
            values = [value for value in self.values if math.isfinite(value)]
            ends = {"low": min(values), "high": max(values), "over": BOTH}
        return {name: getattr(self, name) for name in names} | ends


def _aligned(numbers: Sequence[SeedMean]) -> tuple[list[str], list[Values]]:
    """Return the cells that all numbers have, and each number's values for them."""
    cells = [c for c in numbers[0].cells if all(c in number.cells for number in numbers)]
    columns = []
    for number in numbers:
        values = dict(zip(number.cells, number.values, strict=True))
        columns.append(np.array([values[c] for c in cells], dtype=np.float64))
    return cells, columns


def seed_means(
    frame: pd.DataFrame, by: str | Sequence[str], value: str = "value", seed: str = "seed"
) -> pd.DataFrame:
    """The mean over instances for each group and seed, in the order in which they first come.

    Columns: those of `by`, that of the seed, mean (NaN where no instance is there), n the
    instances used, excluded those that are NaN.
    """
    names = _checked(frame, by, value, seed)
    values = numbers(frame[value], f"column {value!r}")
    cell = _places(frame, [*names, seed])
    means = _firsts(frame, cell, [*names, seed])
    each = pd.Series(values).groupby(cell)
    means["mean"] = each.mean()
    means["n"] = each.count()
    means["excluded"] = each.size() - means["n"]
    return means


def over_seeds(
    frame: pd.DataFrame,
    by: str | Sequence[str],
    value: str = "value",
    seed: str = "seed",
    reason: str | None = None,
) -> pd.DataFrame:
    """One row per group: the mean over seeds of each seed's mean over its instances.

    Args:
        frame: tidy, a row per instance or a row per seed; NaN where there is no value.
        by: the column or columns that name a group; none, for one row over everything.
        value: the column of values.
        seed: the column of seeds.
        reason: a column that says why a value is NaN.

    Every seed weighs alike, however many instances it has. Beside the columns of `by`:

    mean, sd        over seeds; sd is over seeds − 1
    low, high       Student's 95% interval over seeds; NaN for a single seed
    seeds           how many; one without a single value is in seeds_excluded instead
    n, excluded     instances used, and those that are NaN, over all seeds
    excluded: …     with `reason`, how many values are NaN for each reason, which sum to excluded

    >>> frame = pd.DataFrame({"λ": [0, 0, 0, 0], "seed": [1, 1, 2, 2], "value": [1, 3, 4, None]})
    >>> over_seeds(frame, by="λ")[["λ", "mean", "seeds", "n", "excluded"]]
       λ  mean  seeds  n  excluded
    0  0   3.0      2  3         1
    """
    names = _checked(frame, by, value, seed, reason)
    means = seed_means(frame, names, value, seed)
    group = _places(means, names)
    rows = [asdict(describe(part)) for _, part in means["mean"].groupby(group)]
    spread = pd.DataFrame(rows, columns=["mean", "sd", "low", "high", "n", "excluded"])
    result = _firsts(means, group, names)
    for name in ("mean", "sd", "low", "high"):
        result[name] = spread[name].astype("float64")
    result["seeds"] = spread["n"].astype("int64")
    result["seeds_excluded"] = spread["excluded"].astype("int64")
    for name in ("n", "excluded"):
        result[name] = means[name].groupby(group).sum()
    if reason is not None:
        missing = frame[value].isna().to_numpy()
        stated = frame.loc[missing, reason].astype("object")
        reasons = stated.where(stated.notna(), UNSAID).astype(str).to_numpy()
        # groups come first in the same order in the frame as in its means
        where = _places(frame, names)[missing]
        for name in sorted(set(reasons)):
            result[f"{EXCLUDED}{name}"] = np.bincount(where[reasons == name], minlength=len(result))
    return result


def _checked(
    frame: pd.DataFrame, by: str | Sequence[str], value: str, seed: str, reason: str | None = None
) -> list[str]:
    """The columns of `by`, once every column named is known to be there and to serve once."""
    names = [by] if isinstance(by, str) else list(by)
    used = [*names, value, seed, *([] if reason is None else [reason])]
    for name in used:
        if name not in frame.columns:
            raise VeraxError(
                f"no column {name!r}: {nearest(name, map(str, frame.columns))}",
                code="result.unknown-name",
            )
    for name in names:
        if used.count(name) > 1 or name in COLUMNS:
            raise VeraxError(
                f"cannot group by {name!r}: the result has it too; rename it",
                code="option.conflict",
            )
    if frame[seed].isna().any():
        raise VeraxError(
            f"column {seed!r} must name a seed in every row", code="statistics.bad-values"
        )
    return names


def _places(frame: pd.DataFrame, names: list[str]) -> NDArray[np.int64]:
    """(rows,) the number of each row's group, counted in the order in which they first come."""
    if not names:
        return np.zeros(len(frame), dtype=np.int64)
    grouped = frame.groupby(names, sort=False, observed=True, dropna=False)
    return np.asarray(grouped.ngroup(), dtype=np.int64)


def _firsts(frame: pd.DataFrame, place: NDArray[np.int64], names: list[str]) -> pd.DataFrame:
    """What names each group: its first row's columns, as they are typed in the frame."""
    first = ~pd.Series(place).duplicated().to_numpy()
    return frame.loc[first, names].reset_index(drop=True)
