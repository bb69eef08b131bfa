"""Summaries made up by hand, so that every sentence about them is known beforehand."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

from verax.exams.verdict import COLUMNS, Verdict
from verax.report.witness import Witness

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


def summary(*cells: Cell) -> pd.DataFrame:
    rows = [(*c[:7], 100, c[7]) for c in cells]
    return pd.DataFrame(rows, columns=COLUMNS)


def witness(*cells: Cell, name: str = "mine", **manifest: Any) -> Witness:
    return Witness(name, summary(*cells), {"classes": ["no", "yes"], **manifest})


def verdict(*cells: Cell, **manifest: Any) -> Verdict:
    exams = list(dict.fromkeys(c[0] for c in cells))
    return Verdict({}, {"exams": exams, "classes": ["no", "yes"], **manifest}, summary(*cells))


def optimal(value: float, low: float, high: float) -> Cell:
    return cell("erasure", "excess", "attention", "optimal", value, low, high, "percent")


def survives(value: float, low: float, high: float) -> Cell:
    given = (value, low, high, "percent")
    return cell("fragility", "fragility", "uniform", "decisions that survive", *given)
