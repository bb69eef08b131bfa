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
from verax.exams.cells import Cell, count_cell, document_cells, row_cells, sd
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
    values = {name: part[name].to_numpy() for name in part.columns}
    jsd, right = values["jsd"], values["correct"]
    cost = instances["farthest"].to_numpy() - jsd
    numbers: dict[str, Interval | float] = {
        "jsd": _divergence(jsd),
        "sd": sd(jsd),
        "median": quantile(jsd, 0.5),
        "far": mean_share(_far(jsd)),
        "constraint_cost": _divergence(np.where(cost > ROUNDING, cost, 0.0)),
        "change": within_one(mean(values["change"])),
        "decisions_kept": mean_share(values["kept"]),
    }
    if not np.isnan(right).any():
        before = share(instances["correct"].to_numpy())
        numbers["accuracy"] = mean_share(right)
        numbers["delta_accuracy"] = (share(right) - before).interval
    numbers["certified"] = mean_share(values["certified"])
    numbers["upper_bound"] = _divergence(values["upper_bound"])
    return row_cells(ADVERSARY, row, len(part), numbers)


def _search_cells(row: str, part: pd.DataFrame) -> Iterator[Cell]:
    jsd = part["jsd"].to_numpy()
    gap = part["upper_bound"].to_numpy() - jsd
    numbers: dict[str, Interval | float] = {
        "jsd": _divergence(jsd),
        "median": quantile(jsd, 0.5),
        "far": mean_share(_far(jsd)),
        "gap": mean(gap),
        "smallest_gap": float(gap.min()),
        "largest_gap": float(gap.max()),
        "nothing_found": mean_share((jsd == 0).astype(float)),
    }
    return row_cells(SEARCH, row, len(part), numbers)


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
    n = len(instances)
    yield count_cell(GROUPS.id, row, "documents", n, len(chosen))
    numbers = {}
    for epsilon, frame in close.items():
        jsd = frame["jsd"].to_numpy()[chosen]
        numbers[at_epsilon("jsd", epsilon)] = _divergence(jsd)
        numbers[at_epsilon("far", epsilon)] = mean_share(_far(jsd))
    moved = instances["permuted"].to_numpy()
    numbers["permuted_change"] = within_one(mean(moved))
    numbers["permuted_unmoved"] = mean_share((moved < UNMOVED).astype(np.float64))
    yield from row_cells(GROUPS, row, n, numbers)


def _divergence(values: NDArray[np.float64]) -> Interval:
    """A mean of divergences, its interval cut to what these can be."""
    value, low, high = mean(values)
    return value, max(low, 0.0), min(high, MOST)


def _far(jsd: NDArray[np.float64]) -> NDArray[np.float64]:
    return (jsd > FAR).astype(np.float64)


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
