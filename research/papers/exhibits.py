"""Tables and figures of a paper: published numbers beside those measured.

docs/papers.md has the format of exhibits as data.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from importlib import resources
from typing import Any

import pandas as pd

from research.papers.numbers import SeedMean
from research.papers.points import Grid, Point, refuse_unknown
from research.papers.results import PaperResults
from verax import VeraxError

MEASURED = ["published", "value", "sd", "low", "high", "over", "seeds", "n", "beyond", "cells"]
"""Columns of every exhibit, after those that say what a number is."""
SETTING = "setting"
"""The value of `over` for a number that no seed moves: an option of training, a size."""


@dataclass(frozen=True)
class Exhibit:
    """A table or figure that is made from results.

    name   table3, figure5
    title  what it shows, in our words
    make   results → rows of `entry`: a frame of labels, `measure`, and `MEASURED`
    note   what differs from the paper
    """

    name: str
    title: str
    make: Callable[[PaperResults], pd.DataFrame]
    note: str = ""


Rows = Iterator[dict[str, Any]]
"""Rows of `entry`."""
_KEYS = {"title", "note", "part", "over", "labels", "published", "number", "measures", "blocks"}
_KEYS |= {"rows", "runs", "setting"}


def exhibits_of(grid: Grid, data: Mapping[str, Any], shared: Mapping[str, Any]) -> list[Exhibit]:
    """The exhibits of a paper's file; `shared` is what all of them have."""
    exhibits = []
    for name, one in data.items():
        for block in (one, *one.get("blocks", ())):
            refuse_unknown(f"{name} of {grid.package}", block, _KEYS)
        made = partial(_make, grid, {**shared, **one})
        exhibits.append(Exhibit(name, one["title"], made, one.get("note", "")))
    return exhibits


def _make(grid: Grid, exhibit: Mapping[str, Any], results: PaperResults) -> pd.DataFrame:
    start = grid.start(results, exhibit.get("part"))
    if "rows" not in exhibit:
        return frame(_rows(start, exhibit))
    name, *arguments = exhibit["rows"].split()
    return frame(grid.function(name)(start, *arguments))


def _rows(start: Point, exhibit: Mapping[str, Any]) -> Rows:
    for outer in start.over(exhibit["over"]):
        for block in exhibit.get("blocks", [{}]):
            of_all = {**exhibit, **block}
            columns = exhibit.get("labels") or {axis: axis for axis in exhibit["over"]}
            columns = {**columns, **block.get("labels", {})}
            for point in outer.over(block.get("over")):
                labels = {name: point.look_up(label) for name, label in columns.items()}
                for measure, source in of_all["measures"].items():
                    yield _row(point, of_all, labels, measure, source)


def _row(
    point: Point, exhibit: Mapping[str, Any], labels: Mapping[str, Any], measure: str, source: Any
) -> dict[str, Any]:
    number, metric, options = (*source, {})[:3] if isinstance(source, list) else (source, "", {})
    theirs = math.nan
    if metric:
        file, *names = (point.text(name) for name in exhibit["published"])
        dataset, model, attention = names
        column = options.get("column", "value")
        metrics = point.text(metric).split(" + ")
        numbers = [
            published_number(point.grid.package, file, (dataset, model, attention, name), column)
            for name in metrics
        ]
        theirs = options.get("times", 1) * sum(numbers, start=-0.0)  # keeps a published −0
    there = point.but(options.get("at"))
    number = exhibit.get("number", "{}").replace("{}", number or "")
    value = None if there is None or not number else there.number(number)
    return entry(
        labels, measure, value, theirs, exhibit.get("runs", 1), exhibit.get("setting", False)
    )


def entry(
    labels: Mapping[str, Any],
    measure: str,
    number: SeedMean | None,
    published: float = math.nan,
    runs: int = 1,
    setting: bool = False,
) -> dict[str, Any]:
    """A row of an exhibit.

    `published` is the mean of `runs` runs. `beyond` says whether it is farther from ours than seeds
    explain (see `SeedMean.is_beyond`). A `setting`, or a size, is no finding: it has no spread, no
    interval, no seeds and no `beyond`.
    """
    ours: dict[str, Any] = dict.fromkeys(("value", "sd", "low", "high"), math.nan)
    ours |= {"over": "none", "seeds": 0, "n": 0, "cells": ()}
    beyond = None
    if number is not None and setting:
        ours |= {"value": number.value, "over": SETTING, "n": number.n, "cells": number.cells}
    elif number is not None:
        ours, beyond = number.to_dict(), number.is_beyond(published, runs)
    row = {**ours, "published": published, "beyond": beyond, "cells": " ".join(ours["cells"])}
    return {**labels, "measure": measure, **{name: row[name] for name in MEASURED}}


def frame(rows: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """Rows of `entry` as a table, without those that have no number at all."""
    kept = [r for r in rows if not (math.isnan(r["published"]) and math.isnan(r["value"]))]
    if not kept:
        return pd.DataFrame(columns=["measure", *MEASURED])
    labels = list(dict.fromkeys(name for r in kept for name in r if name not in MEASURED))
    made = pd.DataFrame(kept, columns=[*labels, *MEASURED])
    return made.astype({"beyond": "boolean"})


def has_published(table: pd.DataFrame) -> bool:
    """Whether a table has any published number."""
    return len(table) > 0 and bool(table["published"].notna().any())


PublishedKey = tuple[str, str, str, str]
"""dataset, model, attention, metric."""


def published_table(package: str, name: str) -> pd.DataFrame:
    """A published table as it stands, every value as text."""
    file = resources.files(package) / "published" / f"{name}.csv"
    if not file.is_file():
        raise VeraxError(
            f"{package} has no published numbers called {name!r}", code="option.conflict"
        )
    with file.open(encoding="utf-8") as opened:
        return pd.read_csv(opened, dtype=str, keep_default_na=False)


@cache
def published_numbers(
    package: str, name: str, column: str = "value"
) -> Mapping[PublishedKey, float]:
    """The numbers of a published table by key; `column` is value or std."""
    numbers = {}
    for row in published_table(package, name).to_dict("records"):
        try:
            number = float(row[column])
        except ValueError:
            continue
        numbers[row["dataset"], row["model"], row["attention"], row["metric"]] = number
    return numbers


def published_number(package: str, name: str, key: PublishedKey, column: str = "value") -> float:
    """A published number; NaN where there is none."""
    return published_numbers(package, name, column).get(key, math.nan)
