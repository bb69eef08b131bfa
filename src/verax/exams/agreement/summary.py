"""Means of the agreement exam, over its tidy tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pandas as pd

from verax.exams.agreement.ranks import REASONS
from verax.exams.cells import (
    Cell,
    defined,
    document_cells,
    left_out_cells,
    number_cell,
    percent_cell,
    spread_cells,
)
from verax.exams.tables import wide
from verax.exams.verdict import summary_frame
from verax.statistics import mean, proportion

TAUTOLOGY = "(attention itself)"
SIGNIFICANT = 0.05
"""Jain & Wallace (2019) print the share of documents with such a p-value beside each mean τ."""


def summarise(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Mean τ-b of each pair, over all items and over the support, with what was left out and why.

    `p ≤ 0.05` is of the documents that have a τ-b.
    With attention detached the gradient of an item is its weight times a vector that all share: the
    agreement of the two is marked, for it says nothing about the model.
    """
    instances = wide(tables["agreement_instances"])
    means = {"items of a document": "items", "of these in the support": "support"}
    rows = [*document_cells("agreement_documents", instances, means)]
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


def _pair(table: str, row: str, frame: pd.DataFrame) -> Iterator[Cell]:
    *spread, documents = spread_cells(table, row, "τ-b", defined(frame["kendall"]), len(frame))
    yield from spread
    if "p" in frame:  # tables saved before there were p-values have none
        p = defined(frame["p"])
        share = proportion(int((p <= SIGNIFICANT).sum()), len(p))
        yield percent_cell(table, row, f"p ≤ {SIGNIFICANT}", share, len(p))
    for column in ("spearman", "overlap"):
        if column in frame:
            values = defined(frame[column])
            yield number_cell(table, row, column, mean(values), len(values))
    yield documents
    yield from left_out_cells(table, row, frame["reason"], REASONS)
