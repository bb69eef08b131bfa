"""Means of the dispersion exam, over its tidy tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd

from verax.exams.cells import (
    ITEMS,
    SUPPORT,
    SUPPORT_SHARE,
    Cell,
    count_cell,
    defined,
    document_cells,
    left_out_cells,
    number_cell,
    percent_cell,
    spread_cells,
)
from verax.exams.dispersion.measures import DOCUMENT_COUNTS, ENTROPY, HEADS, REASONS, influence
from verax.exams.tables import wide
from verax.exams.values import Tables, coded_part
from verax.exams.verdict import summary_frame
from verax.statistics import mean, mean_share, within_one


def summarise(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Mean entropies with their spread over documents, support, and what was left out and why."""
    instances = wide(tables["dispersion_instances"])
    rows = [*document_cells(DOCUMENT_COUNTS.id, instances, (ITEMS, SUPPORT, SUPPORT_SHARE))]
    for name, part in tables["dispersion"].groupby("of", sort=False, observed=True):
        rows += [*_entropy(str(name), wide(part.drop(columns="of")))]
    if "dispersion_influence" in tables:
        for kind, part in tables["dispersion_influence"].groupby("kind", sort=False, observed=True):
            rows += [*_influence(str(kind), wide(part.drop(columns="kind")))]
    if "dispersion_heads" in tables:
        for place, part in tables["dispersion_heads"].groupby("place", sort=False, observed=True):
            rows += [*_place(str(place), wide(part.drop(columns="place")))]
    return summary_frame("dispersion", rows)


def _entropy(name: str, frame: pd.DataFrame) -> Iterator[Cell]:
    table, row = ENTROPY.id, name
    yield from spread_cells(table, row, "mean", defined(frame["entropy"]), len(frame))
    shares = defined(frame["boundaries"])
    if len(shares):
        yield percent_cell(table, row, "boundaries", mean(shares), len(shares))
    yield from left_out_cells(table, row, frame["reason"], REASONS)


def _influence(kind: str, frame: pd.DataFrame) -> Iterator[Cell]:
    """Mean over items within a document, then over documents; the pooled sd is over all items."""
    table, row = ENTROPY.id, influence(kind)
    yield from spread_cells(table, row, "mean", defined(frame["entropy"]), len(frame))
    counted = frame[frame["positions"] > 0]
    total = float(counted["positions"].sum())
    if total > 1:
        centre = float((counted["entropy"] * counted["positions"]).sum()) / total
        square = float((counted["entropy_square"] * counted["positions"]).sum()) / total
        pooled = float(np.sqrt(max(0.0, square - centre**2) * total / (total - 1)))
        cell = (pooled, np.nan, np.nan)
        yield number_cell(table, row, "pooled_sd", cell, int(total))
    yield from left_out_cells(table, row, frame["reason"], REASONS)
    items = int(frame[["positions", "zero", "nan"]].to_numpy().sum())
    for column, what in (("zero", "all_zero"), ("nan", "not_a_number")):
        yield count_cell(table, row, f"items_out_{what}", int(frame[column].sum()), items)


def _place(place: str, frame: pd.DataFrame) -> Iterator[Cell]:
    entropies, special = defined(frame["entropy"]), defined(frame["special"])
    yield number_cell(HEADS.id, place, "entropy", within_one(mean(entropies)), len(entropies))
    yield percent_cell(HEADS.id, place, "special", mean_share(special), len(special))
    yield count_cell(HEADS.id, place, "documents", len(entropies), len(frame))


def document_values(tables: Tables) -> Iterator[pd.DataFrame]:
    """Entropies of attention, of importances of inputs, and of influence on items."""
    for name, table in tables["dispersion"].groupby("of", sort=False, observed=True):
        yield coded_part(table, ENTROPY.id_of(str(name), "mean"), "entropy", REASONS)
    if "dispersion_influence" in tables:
        for kind, table in tables["dispersion_influence"].groupby("kind", observed=True):
            row = influence(str(kind))
            yield coded_part(table, ENTROPY.id_of(row, "mean"), "entropy", REASONS)
