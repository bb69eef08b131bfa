"""Cells of a summary: numbers, shares and counts, and the groups that exams have in common.

`table`, `row` and `column` are ids (see `verax.exams.measures`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from verax.exams.measures import (
    COUNT,
    NUMBER,
    PERCENT,
    POINTS,
    SCALE,
    UNIT_INTERVAL,
    VALUE,
    Measure,
    Table,
)
from verax.statistics import Interval, mean, proportion, quantile

Cell = Mapping[str, Any]

DOCUMENTS = Measure("documents", "documents", COUNT, whole=True)
ACCURACY = Measure("accuracy", "accuracy", PERCENT)
ITEMS = Measure("items", "items of a document", bounds=(0.0, np.inf))
SUPPORT = Measure("support", "of these in the support", bounds=(0.0, np.inf))
SUPPORT_SHARE = Measure("support_share", "share in the support", bounds=UNIT_INTERVAL)
SD = Measure("sd", "sd", bounds=(0.0, np.inf))
MEDIAN = Measure("median", "median")


def number_cell(table: str, row: str, column: str, interval: Interval, n: int) -> dict[str, Any]:
    """One cell of a summary: a number.

    Args:
        table: the table's id.
        row: the row's id.
        column: the column's id.
        interval: the number and both ends of its interval, NaN where it has none.
        n: the instances it is over.
    """
    value, low, high = interval
    cell = {"table": table, "row": row, "column": column, "n": n, "unit": NUMBER}
    return {**cell, "value": value, "low": low, "high": high}


def percent_cell(table: str, row: str, column: str, interval: Interval, n: int) -> dict[str, Any]:
    """One cell of a summary: a share, given from 0 to 1 and kept in percent."""
    value, low, high = (100 * x for x in interval)
    return {**number_cell(table, row, column, (value, low, high), n), "unit": PERCENT}


def points_cell(table: str, row: str, column: str, interval: Interval, n: int) -> dict[str, Any]:
    """One cell of a summary: a difference of shares, kept in percentage points."""
    return {**percent_cell(table, row, column, interval, n), "unit": POINTS}


def count_cell(table: str, row: str, column: str, count: int, n: int) -> dict[str, Any]:
    """One cell of a summary: a count out of n, which has no interval."""
    nothing = float("nan")
    return {**number_cell(table, row, column, (count, nothing, nothing), n), "unit": COUNT}


def row_cells(
    table: Table, row: str, n: int, values: Mapping[str, Interval | float]
) -> Iterator[Cell]:
    """Cells of one row of a declared table, each in its measure's unit.

    Args:
        table: declares the columns; of a table of counts, `values` has the rows.
        row: the row's id; unused in a table of counts.
        n: the instances that the numbers are over.
        values: column → the number and both ends of its interval, or the number alone; shares and
            their differences from −1 to 1.
    """
    for name, value in values.items():
        place = (name, VALUE) if table.counts else (row, name)
        measure = table.measure(*place)
        unit = NUMBER if measure is None else measure.unit
        interval = value if isinstance(value, tuple) else (value, np.nan, np.nan)
        scaled = (SCALE[unit] * interval[0], SCALE[unit] * interval[1], SCALE[unit] * interval[2])
        yield {**number_cell(table.id, *place, scaled, n), "unit": unit}


def sd(values: NDArray[np.float64]) -> float:
    """The standard deviation, over n − 1; NaN for fewer than two values."""
    return float(values.std(ddof=1)) if len(values) > 1 else float("nan")


def spread_cells(
    table: str, row: str, column: str, values: NDArray[np.float64], documents: int
) -> Iterator[Cell]:
    """Mean (under `column`), sd and median of what is defined, and of how many documents it is."""
    n = len(values)
    yield number_cell(table, row, column, mean(values), n)
    yield number_cell(table, row, SD.id, (sd(values), np.nan, np.nan), n)
    yield number_cell(table, row, MEDIAN.id, quantile(values, 0.5), n)
    yield count_cell(table, row, DOCUMENTS.id, n, documents)


def exclusions(reasons: Sequence[str]) -> tuple[Measure, ...]:
    """Measures that count what is left out, a reason each; the first reason stands for none."""
    return tuple(
        Measure(exclusion_id(reason), f"out: {reason}", COUNT, excluded=True)
        for reason in reasons[1:]
    )


def exclusion_id(reason: str) -> str:
    """The id of the count of what is left out for a reason.

    >>> exclusion_id("one position")
    'out_one_position'
    """
    return f"out_{reason.replace(' ', '_')}"


def left_out_cells(
    table: str, row: str, codes: pd.Series, reasons: Sequence[str]
) -> Iterator[Cell]:
    """How many documents are left out for each reason; code 0 is for none."""
    for code, reason in enumerate(reasons):
        if code:
            count = int((codes == code).sum())
            yield count_cell(table, row, exclusion_id(reason), count, len(codes))


def document_cells(
    table: str, instances: pd.DataFrame, means: Sequence[Measure] = ()
) -> Iterator[Cell]:
    """Documents, accuracy where there are labels, and the means of columns named like measures."""
    n = len(instances)
    yield count_cell(table, DOCUMENTS.id, VALUE, n, n)
    correct = defined(instances["correct"])
    if len(correct):
        share = proportion(int(correct.sum()), len(correct))
        yield percent_cell(table, ACCURACY.id, VALUE, share, len(correct))
    for measure in means:
        values = defined(instances[measure.id])
        yield number_cell(table, measure.id, VALUE, mean(values), len(values))


def defined(column: pd.Series) -> NDArray[np.float64]:
    """The values that are there."""
    values = column.to_numpy(dtype=np.float64)
    return values[~np.isnan(values)]
