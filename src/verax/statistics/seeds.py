"""From tidy results to means over seeds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from verax.errors import VeraxError, nearest
from verax.statistics.intervals import mean, mean_and_sd
from verax.statistics.missing import numbers, present

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
