"""Tables and figures of a paper: published numbers beside those measured."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from research.papers.axes import Point, Source
from research.papers.results import PaperResults
from verax.statistics import SeedMean

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


@dataclass(frozen=True)
class Measure:
    """A measure of an exhibit, and what is published of it.

    Attributes:
        source: where our number comes from; None without one.
        metric: the published metric, a template; empty without one.
        column: of the published table: value or std.
        times: a factor of the published number.
    """

    source: Source | None
    metric: str = ""
    column: str = "value"
    times: float = 1


Measures = dict[str, Source | Measure]


def rows(
    point: Point,
    labels: Mapping[str, str | None],
    measures: Mapping[str, Source | Measure],
    number: str = "{}",
    published: Callable[[Point, str, str], float] | None = None,
    runs: int = 1,
    setting: bool = False,
) -> Rows:
    """Yield a row of an exhibit for each measure at a point.

    Args:
        point: where the numbers are.
        labels: column → AXIS or AXIS.FACT, a template, or any other text as it is.
        measures: measure → its source, or a `Measure`.
        number: a template of sources, in which a source that is text takes the place of `{}`.
        published: a function that gives the published number, see `Published.beside`.
        runs: the number of runs behind a published mean.
        setting: whether the numbers are settings or sizes.
    """
    named = {name: _label(point, label) for name, label in labels.items()}
    for name, one in measures.items():
        measure = one if isinstance(one, Measure) else Measure(one)
        theirs = math.nan
        if measure.metric and published is not None:
            theirs = measure.times * published(point, measure.metric, measure.column)
        source = measure.source
        if isinstance(source, str):
            source = number.replace("{}", source)
        ours = None if source is None else point.number(source)
        yield entry(named, name, ours, theirs, runs, setting)


def _label(point: Point, label: str | None) -> Any:
    if label is None or "{" in label:
        return None if label is None else point.text(label)
    axis, _, fact = label.partition(".")
    if axis not in point.values:
        return label
    return getattr(point.values[axis], fact) if fact else point.values[axis].name


Make = Callable[[PaperResults], Rows]


class Exhibits(list[Exhibit]):
    """The tables and figures of a paper; a decorator adds one."""

    def __call__(self, name: str) -> Callable[[Make], Make]:
        """Add the exhibit whose rows a function yields; its docstring is the title, and a note."""

        def add(make: Make) -> Make:
            title, _, note = (make.__doc__ or "").partition("\n\n")
            texts = (" ".join(text.split()) for text in (title, note))
            title, note = texts
            made = Exhibit(name, title.removesuffix("."), lambda r: frame(make(r)), note)
            self.append(made)
            return make

        return add


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


@dataclass(frozen=True)
class Content:
    """A table or figure of a paper.

    name       as the paper calls it
    made       names of the exhibits that it is made as; none if it is not
    published  names of the files of its published numbers
    note       what differs, or why it is not made
    """

    name: str
    made: Sequence[str] = ()
    published: Sequence[str] = ()
    note: str = ""
