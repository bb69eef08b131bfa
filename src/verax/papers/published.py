"""Published tables: a CSV file each, in a paper's own folder."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from importlib import resources

import pandas as pd

from verax.errors import VeraxError

Key = tuple[str, str, str, str]
"""dataset, model, attention, metric."""


def table(package: str, name: str) -> pd.DataFrame:
    """A published table as it stands, every value as text."""
    file = resources.files(package) / "published" / f"{name}.csv"
    if not file.is_file():
        raise VeraxError(f"{package} has no published numbers called {name!r}")
    with file.open(encoding="utf-8") as opened:
        return pd.read_csv(opened, dtype=str, keep_default_na=False)


@cache
def numbers(package: str, name: str, column: str = "value") -> Mapping[Key, float]:
    """(dataset, model, attention, metric) → value, of those that are numbers; `column` std too."""
    found = {}
    for row in table(package, name).to_dict("records"):
        try:
            number = float(row[column])
        except ValueError:
            continue
        found[row["dataset"], row["model"], row["attention"], row["metric"]] = number
    return found


def number(package: str, name: str, key: Key) -> float:
    """A published number; NaN where there is none."""
    return numbers(package, name).get(key, math.nan)
