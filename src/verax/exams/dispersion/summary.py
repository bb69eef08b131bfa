"""Means of the dispersion exam, over its tidy tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from verax.exams.dispersion.exam import REASONS
from verax.exams.tables import wide
from verax.exams.verdict import count_cell, number_cell, percent_cell, summary_frame
from verax.statistics import mean, proportion, quantile

Row = Mapping[str, Any]


def summarise(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Mean entropies with their spread over documents, support, and what was left out and why."""
    instances = wide(tables["dispersion_instances"])
    rows = [*_documents(instances)]
    for name, part in tables["dispersion"].groupby("of", sort=False, observed=True):
        rows += [*_entropy(str(name), wide(part.drop(columns="of")))]
    if "dispersion_influence" in tables:
        for kind, part in tables["dispersion_influence"].groupby("kind", sort=False, observed=True):
            rows += [*_influence(str(kind), wide(part.drop(columns="kind")))]
    return summary_frame("dispersion", rows)


def _documents(instances: pd.DataFrame) -> Iterator[Row]:
    n = len(instances)
    yield count_cell("dispersion_documents", "documents", "value", n, n)
    correct = instances["correct"].dropna().to_numpy()
    if len(correct):
        share = proportion(int(correct.sum()), len(correct))
        yield percent_cell("dispersion_documents", "accuracy", "value", share, len(correct))
    for row, column in (
        ("items of a document", "items"),
        ("of these in the support", "support"),
        ("share in the support", "support_share"),
    ):
        values = _there(instances[column])
        yield number_cell("dispersion_documents", row, "value", mean(values), len(values))


def _entropy(name: str, frame: pd.DataFrame) -> Iterator[Row]:
    row = "attention, over items" if name == "attention" else f"{name}, of inputs on the output"
    yield from _numbers(row, _there(frame["entropy"]), len(frame))
    shares = _there(frame["boundaries"])
    if len(shares):
        found = mean(shares)
        yield percent_cell("entropy", row, "at SOS and EOS", found, len(shares))
    yield from _left_out(row, frame)


def _left_out(row: str, frame: pd.DataFrame) -> Iterator[Row]:
    for code, reason in enumerate(REASONS):
        if code:
            count = int((frame["reason"] == code).sum())
            yield count_cell("entropy", row, f"out: {reason}", count, len(frame))


def _influence(kind: str, frame: pd.DataFrame) -> Iterator[Row]:
    """Mean over items within a document, then over documents; the pooled sd is over all items."""
    of = "an item's magnitude" if kind == "norm" else "an item"
    row = f"gradient, of inputs on {of}"
    yield from _numbers(row, _there(frame["entropy"]), len(frame))
    there = frame[frame["positions"] > 0]
    total = float(there["positions"].sum())
    if total > 1:
        centre = float((there["entropy"] * there["positions"]).sum()) / total
        square = float((there["entropy_square"] * there["positions"]).sum()) / total
        pooled = float(np.sqrt(max(0.0, square - centre**2) * total / (total - 1)))
        cell = (pooled, np.nan, np.nan)
        yield number_cell("entropy", row, "pooled sd", cell, int(total))
    yield from _left_out(row, frame)
    items = int(frame[["positions", "zero", "nan"]].to_numpy().sum())
    for column, what in (("zero", "all zero"), ("nan", "not a number")):
        yield count_cell("entropy", row, f"items out: {what}", int(frame[column].sum()), items)


def _numbers(row: str, values: NDArray[np.float64], documents: int) -> Iterator[Row]:
    n = len(values)
    sd = float(values.std(ddof=1)) if n > 1 else float("nan")
    yield number_cell("entropy", row, "mean", mean(values), n)
    yield number_cell("entropy", row, "sd", (sd, np.nan, np.nan), n)
    yield number_cell("entropy", row, "median", quantile(values, 0.5), n)
    yield count_cell("entropy", row, "documents", n, documents)


def _there(column: pd.Series) -> NDArray[np.float64]:
    values = column.to_numpy(dtype=np.float64)
    return values[~np.isnan(values)]
