"""Cells of a summary: numbers, shares and counts, and the groups that exams have in common."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from verax.statistics import Interval, mean, proportion, quantile

Cell = Mapping[str, Any]


def number_cell(table: str, row: str, column: str, interval: Interval, n: int) -> dict[str, Any]:
    """One cell of a summary: a number with its interval, over n instances."""
    value, low, high = interval
    cell = {"table": table, "row": row, "column": column, "n": n, "unit": "number"}
    return {**cell, "value": value, "low": low, "high": high}


def percent_cell(table: str, row: str, column: str, interval: Interval, n: int) -> dict[str, Any]:
    """The same for a share, in percent."""
    value, low, high = (100 * x for x in interval)
    return {**number_cell(table, row, column, (value, low, high), n), "unit": "percent"}


def points_cell(table: str, row: str, column: str, interval: Interval, n: int) -> dict[str, Any]:
    """The same for a difference of shares, in percentage points."""
    return {**percent_cell(table, row, column, interval, n), "unit": "points"}


def count_cell(table: str, row: str, column: str, count: int, n: int) -> dict[str, Any]:
    """The same for a count out of n, which has no interval."""
    nothing = float("nan")
    return {**number_cell(table, row, column, (count, nothing, nothing), n), "unit": "count"}


def spread_cells(
    table: str, row: str, column: str, values: NDArray[np.float64], documents: int
) -> Iterator[Cell]:
    """Mean (under `column`), sd and median of what is defined, and of how many documents it is."""
    n = len(values)
    sd = float(values.std(ddof=1)) if n > 1 else float("nan")
    yield number_cell(table, row, column, mean(values), n)
    yield number_cell(table, row, "sd", (sd, np.nan, np.nan), n)
    yield number_cell(table, row, "median", quantile(values, 0.5), n)
    yield count_cell(table, row, "documents", n, documents)


def left_out_cells(
    table: str, row: str, codes: pd.Series, reasons: Sequence[str]
) -> Iterator[Cell]:
    """How many documents are left out for each reason; code 0 is for none."""
    for code, reason in enumerate(reasons):
        if code:
            yield count_cell(table, row, f"out: {reason}", int((codes == code).sum()), len(codes))


def document_cells(table: str, instances: pd.DataFrame, means: Mapping[str, str]) -> Iterator[Cell]:
    """Documents, accuracy where there are labels, and the means of some columns, by row."""
    n = len(instances)
    yield count_cell(table, "documents", "value", n, n)
    correct = defined(instances["correct"])
    if len(correct):
        share = proportion(int(correct.sum()), len(correct))
        yield percent_cell(table, "accuracy", "value", share, len(correct))
    for row, column in means.items():
        values = defined(instances[column])
        yield number_cell(table, row, "value", mean(values), len(values))


def defined(column: pd.Series) -> NDArray[np.float64]:
    """The values that are there."""
    values = column.to_numpy(dtype=np.float64)
    return values[~np.isnan(values)]
