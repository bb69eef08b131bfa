"""Summaries made up by hand, so that every sentence about them is known beforehand."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

from verax.exams.judgement.model_summary import ModelSummary
from verax.exams.measures import measure_id
from verax.exams.verdict import COLUMNS, Verdict

Cell = tuple[str, str, str, str, float, float, float, str]


def cell(
    exam: str,
    table: str,
    row: str,
    column: str,
    value: float,
    low: float = math.nan,
    high: float = math.nan,
    unit: str = "number",
) -> Cell:
    return exam, table, row, column, value, low, high, unit


def summary(*cells: Cell, n: int = 100) -> pd.DataFrame:
    rows = [(*c[:4], measure_id(*c[1:4]), *c[4:7], n, c[7]) for c in cells]
    return pd.DataFrame(rows, columns=COLUMNS)


def witness(*cells: Cell, name: str = "mine", n: int = 100, **manifest: Any) -> ModelSummary:
    return ModelSummary(name, summary(*cells, n=n), {"classes": ["no", "yes"], **manifest})


def verdict(*cells: Cell, **manifest: Any) -> Verdict:
    exams = list(dict.fromkeys(c[0] for c in cells))
    return Verdict({}, {"exams": exams, "classes": ["no", "yes"], **manifest}, summary(*cells))


def optimal(value: float, low: float, high: float) -> Cell:
    return cell("erasure", "erasure.excess", "attention", "optimal", value, low, high, "percent")


def part_optimal(value: float, low: float, high: float, row: str = "attention") -> Cell:
    """Of the documents that change before all is erased."""
    place = ("erasure", "erasure.excess", row, "optimal_in_part")
    return cell(*place, value, low, high, "percent")


def more_than_random(value: float, low: float, high: float) -> Cell:
    place = ("erasure", "erasure.excess", "attention", "beyond_random")
    return cell(*place, value, low, high, "points")


def survives(value: float, low: float, high: float) -> Cell:
    place = ("replacement", "replacement", "uniform", "survival")
    return cell(*place, value, low, high, "percent")
