"""Divergence, what it costs, and where it is found, over the adversary exam's tidy tables."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from verax.divergence import MOST
from verax.exams.adversary.measures import (
    ADVERSARY,
    ALL,
    BEST,
    CONFIDENCE,
    DOCUMENT_COUNTS,
    FAR,
    GROUPS,
    SEARCH,
    SEARCHED,
    UNMOVED,
    at_epsilon,
    epsilon_row,
    group_row,
)
from verax.exams.cells import (
    Cell,
    count_cell,
    document_cells,
    number_cell,
    percent_cell,
    points_cell,
)
from verax.exams.measures import VALUE
from verax.exams.tables import wide
from verax.exams.values import Tables, column, part
from verax.exams.verdict import summary_frame
from verax.statistics import Interval, mean, mean_share, quantile, share, within_one

CLOSE = 0.1
"""Changes of the output up to which it is still called the same, for the groups."""
ROUNDING = 1e-9
"""Nats by which two divergences that are the same may differ."""
BINS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Of a document's largest weight; the last holds 1, too."""


def summarise(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """A row per ε, of the search too, and the closest ε by decided class and largest weight."""
    instances = wide(tables["adversary_instances"])
    measures = wide(tables["adversary"], "epsilon", "by")
    rows = [*document_cells(DOCUMENT_COUNTS.id, instances, (CONFIDENCE,))]
    one = instances["items"] == 1
    rows.append(count_cell(DOCUMENT_COUNTS.id, "one_item", VALUE, int(one.sum()), len(instances)))
    instances = instances[~one]
    measures = measures[measures.index.get_level_values("id").isin(instances.index)]
    by = {
        (float(str(epsilon)), str(how)): part.droplevel(["epsilon", "by"])
        for (epsilon, how), part in measures.groupby(["epsilon", "by"], observed=True)
    }
    for epsilon in sorted({epsilon for epsilon, _ in by}):
        rows += [*_best_cells(epsilon_row(epsilon), by[epsilon, BEST], instances)]
    for epsilon in sorted({epsilon for epsilon, how in by if how == SEARCHED}):
        rows += [*_search_cells(epsilon_row(epsilon), by[epsilon, SEARCHED])]
    close = {e: part for (e, how), part in sorted(by.items()) if how == BEST and e <= CLOSE}
    rows += [*_group_cells(instances, close)]
    return summary_frame("adversary", rows)


def _best_cells(row: str, part: pd.DataFrame, instances: pd.DataFrame) -> Iterator[Cell]:
    n, table = len(part), ADVERSARY.id
    jsd = part["jsd"].to_numpy()
    yield number_cell(table, row, "jsd", _divergence(jsd), n)
    yield number_cell(table, row, "sd", (_sd(jsd), np.nan, np.nan), n)
    yield number_cell(table, row, "median", quantile(jsd, 0.5), n)
    yield percent_cell(table, row, "far", mean_share(_far(jsd)), n)
    cost = instances["farthest"].to_numpy() - jsd
    cost = np.where(cost > ROUNDING, cost, 0.0)
    yield number_cell(table, row, "constraint_cost", _divergence(cost), n)
    yield number_cell(table, row, "change", within_one(mean(part["change"].to_numpy())), n)
    yield percent_cell(table, row, "decisions_kept", mean_share(part["kept"].to_numpy()), n)
    right = part["correct"].to_numpy()
    if not np.isnan(right).any():
        yield percent_cell(table, row, "accuracy", mean_share(right), n)
        right_before = instances["correct"].to_numpy()
        yield points_cell(
            table, row, "delta_accuracy", (share(right) - share(right_before)).interval, n
        )
    yield percent_cell(table, row, "certified", mean_share(part["certified"].to_numpy()), n)
    yield number_cell(table, row, "upper_bound", _divergence(part["upper_bound"].to_numpy()), n)


def _search_cells(row: str, part: pd.DataFrame) -> Iterator[Cell]:
    n, table = len(part), SEARCH.id
    jsd, bound = part["jsd"].to_numpy(), part["upper_bound"].to_numpy()
    yield number_cell(table, row, "jsd", _divergence(jsd), n)
    yield number_cell(table, row, "median", quantile(jsd, 0.5), n)
    yield percent_cell(table, row, "far", mean_share(_far(jsd)), n)
    gap = bound - jsd
    yield number_cell(table, row, "gap", mean(gap), n)
    yield number_cell(table, row, "smallest_gap", (float(gap.min()), np.nan, np.nan), n)
    yield number_cell(table, row, "largest_gap", (float(gap.max()), np.nan, np.nan), n)
    yield percent_cell(table, row, "nothing_found", mean_share((jsd == 0).astype(float)), n)


def _group_cells(instances: pd.DataFrame, close: Mapping[float, pd.DataFrame]) -> Iterator[Cell]:
    """By decided class, by largest weight, and by both."""
    decision = instances["decision"].to_numpy()
    place = np.digitize(instances["max_weight"].to_numpy(), BINS[1:-1])
    all_of_them = np.ones(len(instances), dtype=bool)
    decided = np.unique(decision)
    classes: dict[int | None, NDArray[np.bool_]] = {None: all_of_them}
    if len(decided) > 1:  # one alone has no other rows than all
        classes |= {int(c): decision == c for c in decided}
    weights: dict[tuple[float, float] | None, NDArray[np.bool_]] = {None: all_of_them}
    weights |= {edges: place == k for k, edges in enumerate(itertools.pairwise(BINS))}
    for one, in_class in classes.items():
        for edges, in_bin in weights.items():
            chosen = in_class & in_bin
            if chosen.any():
                yield from _one_group(group_row(one, edges), instances[chosen], close, chosen)


def _one_group(
    row: str,
    instances: pd.DataFrame,
    close: Mapping[float, pd.DataFrame],
    chosen: NDArray[np.bool_],
) -> Iterator[Cell]:
    n, table = len(instances), GROUPS.id
    yield count_cell(table, row, "documents", n, len(chosen))
    for epsilon, frame in close.items():
        jsd = frame["jsd"].to_numpy()[chosen]
        yield number_cell(table, row, at_epsilon("jsd", epsilon), _divergence(jsd), n)
        yield percent_cell(table, row, at_epsilon("far", epsilon), mean_share(_far(jsd)), n)
    moved = instances["permuted"].to_numpy()
    yield number_cell(table, row, "permuted_change", within_one(mean(moved)), n)
    unmoved = (moved < UNMOVED).astype(np.float64)
    yield percent_cell(table, row, "permuted_unmoved", mean_share(unmoved), n)


def _divergence(values: NDArray[np.float64]) -> Interval:
    """A mean of divergences, its interval cut to what these can be."""
    value, low, high = mean(values)
    return value, max(low, 0.0), min(high, MOST)


def _far(jsd: NDArray[np.float64]) -> NDArray[np.float64]:
    return (jsd > FAR).astype(np.float64)


def _sd(values: NDArray[np.float64]) -> float:
    return float(values.std(ddof=1)) if len(values) > 1 else float("nan")


def document_values(tables: Tables) -> Iterator[pd.DataFrame]:
    """Divergence and what keeping the output costs of it, for every ε; change under permutation.

    A document of one item has no other attention, and says nothing of a model.
    """
    instances = tables["adversary_instances"]
    several = column(instances, "items") > 1
    one = np.full(len(several), "one item", dtype=object)
    best = tables["adversary"][tables["adversary"]["by"] == "best"]
    farthest, by_id = column(instances, "farthest"), {}
    for written, rows in best.groupby("epsilon", sort=False, observed=True):
        epsilon = float(str(written))
        if epsilon < 1:  # beyond that it is the least weight's, whatever is said
            row = epsilon_row(epsilon)
            jsd = column(rows, "jsd")
            by_id[ADVERSARY.id_of(row, "jsd")] = jsd
            by_id[ADVERSARY.id_of(row, "constraint_cost")] = farthest - jsd
    by_id[GROUPS.id_of(ALL, "permuted_change")] = column(instances, "permuted")
    for id, series in by_id.items():
        kept = series.where(several.reindex(series.index))
        yield part(pd.Series(series.index), id, kept, one)
