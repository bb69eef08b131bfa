"""Means of the agreement exam, over its tidy tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from verax.exams.agreement.ranks import REASONS
from verax.exams.tables import wide
from verax.exams.verdict import count_cell, number_cell, percent_cell, summary_frame
from verax.statistics import mean, proportion, quantile

Row = Mapping[str, Any]
TAUTOLOGY = "(attention itself)"


def summarise(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Mean τ-b of each pair, over all items and over the support, with what was left out and why.

    With attention detached the gradient of an item is its weight times a vector that all share: the
    agreement of the two is marked, for it says nothing about the model.
    """
    instances = wide(tables["agreement_instances"])
    rows = [*_documents(instances)]
    parts = {
        key: wide(part.drop(columns=["on", "first", "second", "over"]))
        for key, part in tables["agreement"].groupby(
            ["on", "first", "second", "over"], sort=False, observed=True
        )
    }
    for over, table in (("all", "agreement"), ("support", "agreement_on_support")):
        for (on, first, second, part), frame in parts.items():
            if part != over:
                continue
            row = f"{on}: {first} : {second}"
            if (on, first, second) == ("items", "attention", "gradient-detached"):
                row += f" {TAUTOLOGY}"
            rows += [*_pair(table, row, frame)]
    return summary_frame("agreement", rows)


def _documents(instances: pd.DataFrame) -> Iterator[Row]:
    n = len(instances)
    correct = instances["correct"].dropna().to_numpy()
    yield count_cell("agreement_documents", "documents", "value", n, n)
    if len(correct):
        share = proportion(int(correct.sum()), len(correct))
        yield percent_cell("agreement_documents", "accuracy", "value", share, len(correct))
    for row, column in (("items of a document", "items"), ("of these in the support", "support")):
        found = mean(instances[column].to_numpy(dtype=np.float64))
        yield number_cell("agreement_documents", row, "value", found, n)


def _pair(table: str, row: str, frame: pd.DataFrame) -> Iterator[Row]:
    kendall = _there(frame["kendall"])
    yield number_cell(table, row, "τ-b", mean(kendall), len(kendall))
    yield number_cell(table, row, "sd", (_sd(kendall), np.nan, np.nan), len(kendall))
    yield number_cell(table, row, "median", quantile(kendall, 0.5), len(kendall))
    for column in ("spearman", "overlap"):
        if column in frame:
            values = _there(frame[column])
            yield number_cell(table, row, column, mean(values), len(values))
    yield count_cell(table, row, "documents", len(kendall), len(frame))
    for code, reason in enumerate(REASONS):
        if code:
            count = int((frame["reason"] == code).sum())
            yield count_cell(table, row, f"out: {reason}", count, len(frame))


def _there(column: pd.Series) -> NDArray[np.float64]:
    values = column.to_numpy(dtype=np.float64)
    return values[~np.isnan(values)]


def _sd(values: NDArray[np.float64]) -> float:
    return float(values.std(ddof=1)) if len(values) > 1 else float("nan")
