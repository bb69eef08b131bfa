"""Means of the agreement exam, over its tidy tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pandas as pd

from verax.exams.agreement.measures import AGREEMENT, DOCUMENT_COUNTS, ON_SUPPORT, pair
from verax.exams.agreement.ranks import REASONS
from verax.exams.cells import (
    ITEMS,
    SUPPORT,
    Cell,
    defined,
    document_cells,
    left_out_cells,
    number_cell,
    percent_cell,
    spread_cells,
)
from verax.exams.tables import wide
from verax.exams.values import Tables, coded_part
from verax.exams.verdict import summary_frame
from verax.statistics import mean, proportion

SIGNIFICANT = 0.05
"""Jain & Wallace (2019) print the share of documents with such a p-value beside each mean τ."""


def summarise(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Mean τ-b of each pair, over all items and over the support, with what was left out and why.

    `significant` is of the documents that have a τ-b.
    With attention detached the gradient of an item is its weight times a vector that all share: the
    agreement of the two says nothing about the model, and its title says so.
    """
    instances = wide(tables["agreement_instances"])
    rows = [*document_cells(DOCUMENT_COUNTS.id, instances, (ITEMS, SUPPORT))]
    parts = {
        key: wide(part.drop(columns=["on", "first", "second", "over"]))
        for key, part in tables["agreement"].groupby(
            ["on", "first", "second", "over"], sort=False, observed=True
        )
    }
    for over, table in (("all", AGREEMENT.id), ("support", ON_SUPPORT.id)):
        for (on, first, second, part), frame in parts.items():
            if part == over:
                rows += [*_pair(table, pair(str(on), str(first), str(second)), frame)]
    return summary_frame("agreement", rows)


def _pair(table: str, row: str, frame: pd.DataFrame) -> Iterator[Cell]:
    *spread, documents = spread_cells(table, row, "tau", defined(frame["kendall"]), len(frame))
    yield from spread
    p = defined(frame["p"])
    share = proportion(int((p <= SIGNIFICANT).sum()), len(p))
    yield percent_cell(table, row, "significant", share, len(p))
    for column in ("spearman", "overlap"):
        if column in frame:
            values = defined(frame[column])
            yield number_cell(table, row, column, mean(values), len(values))
    yield documents
    yield from left_out_cells(table, row, frame["reason"], REASONS)


def document_values(tables: Tables) -> Iterator[pd.DataFrame]:
    """Kendall's τ-b of every pair, over all items and among those with weight."""
    labels = ["on", "first", "second", "over"]
    for key, table in tables["agreement"].groupby(labels, sort=False, observed=True):
        on, first, second, over = map(str, key)
        where = AGREEMENT if over == "all" else ON_SUPPORT
        yield coded_part(table, where.id_of(pair(on, first, second), "tau"), "kendall", REASONS)
