"""A table or figure of a paper, made again: published beside measured."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from verax.papers.numbers import SeedMean
from verax.papers.results import PaperResults

MEASURED = ["published", "value", "sd", "low", "high", "over", "seeds", "n", "beyond", "cells"]
"""What every exhibit has after the columns that say what a number is."""
SETTING = "setting"
"""What stands in `over` of a number that no seed moves: an option of training, a size."""


@dataclass(frozen=True)
class Exhibit:
    """How a table or figure is made from results.

    name   table3, figure5
    title  what it shows, in our words
    make   results → rows of `entry`: a frame of labels, `measure`, and `MEASURED`
    note   what is otherwise than in the paper
    """

    name: str
    title: str
    make: Callable[[PaperResults], pd.DataFrame]
    note: str = ""


Rows = Callable[[PaperResults], Iterable[Mapping[str, Any]]]


class ExhibitList(list[Exhibit]):
    """The exhibits of a paper, each added by the function that gives its rows."""

    def add(self, name: str, title: str, note: str = "") -> Callable[[Rows], Rows]:
        """A decorator for a function from results to rows of `entry`; see `Exhibit`."""

        def register(rows: Rows) -> Rows:
            self.append(Exhibit(name, title, lambda results: frame(rows(results)), note))
            return rows

        return register


def entry(
    labels: Mapping[str, Any],
    measure: str,
    number: SeedMean | None,
    published: float = math.nan,
    runs: int = 1,
    setting: bool = False,
) -> dict[str, Any]:
    """A row of an exhibit; `published` is a mean of so many `runs`.

    `beyond` says whether it is farther from ours than seeds explain (see `SeedMean.is_beyond`). A
    `setting`, or a size, is no finding: it has neither spread, interval and seeds nor `beyond`.
    """
    row: dict[str, Any] = {**labels, "measure": measure, "published": published}
    if number is None:
        nothing = dict.fromkeys(("value", "sd", "low", "high"), math.nan)
        return row | nothing | {"over": "none", "seeds": 0, "n": 0, "beyond": None, "cells": ""}
    if setting:
        nothing = dict.fromkeys(("sd", "low", "high"), math.nan)
        row |= {"value": number.value, **nothing, "over": SETTING, "seeds": 0, "n": number.n}
        return row | {"beyond": None, "cells": " ".join(number.cells)}
    row |= {name: getattr(number, name) for name in ("value", "sd", "low", "high", "over")}
    row |= {"seeds": number.seeds, "n": number.n}
    return row | {"beyond": number.is_beyond(published, runs), "cells": " ".join(number.cells)}


def frame(rows: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """Rows of `entry` as a table; those with neither a published nor a measured number are left."""
    kept = [r for r in rows if not (math.isnan(r["published"]) and math.isnan(r["value"]))]
    if not kept:
        return pd.DataFrame(columns=["measure", *MEASURED])
    labels = list(dict.fromkeys(name for r in kept for name in r if name not in MEASURED))
    made = pd.DataFrame(kept, columns=[*labels, *MEASURED])
    return made.astype({"beyond": "boolean"})


def has_published(table: pd.DataFrame) -> bool:
    return len(table) > 0 and bool(table["published"].notna().any())
