"""AUPRC and F1 over the plausibility exam's tidy tables, each ranking beside the best baseline."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from verax.exams.cells import Cell, defined, document_cells, left_out_cells, row_cells
from verax.exams.measures import VALUE
from verax.exams.plausibility.baselines import BASELINES
from verax.exams.plausibility.measures import (
    DOCUMENT_COUNTS,
    NAME,
    OF_DOCUMENTS,
    PLAUSIBILITY,
    REASONS,
)
from verax.exams.tables import wide
from verax.exams.values import Tables, part
from verax.exams.verdict import summary_frame
from verax.statistics import Interval, holm, mean, mean_share, paired

TEST = "permutation"
"""The paired test of a ranking against the best baseline: flips of the signs of differences."""

Values = NDArray[np.float64]


def summarise(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Documents, and each ranking beside the baselines."""
    instances = wide(tables["plausibility_instances"])
    return summary_frame(NAME, [*_documents(instances), *_rankings(ranked(tables))])


def ranked(tables: Tables) -> dict[str, pd.DataFrame]:
    """Ranking → a row per document, a column per measure; random ones are means over draws."""
    table = tables["plausibility"]
    if not len(table):
        return {}
    groups = table.groupby("ranking", sort=False, observed=True)
    return {str(name): wide(rows, "draw").groupby("id").mean() for name, rows in groups}


def best_baseline(rankings: Mapping[str, pd.DataFrame]) -> str:
    """The baseline with the highest mean AUPRC."""
    return max(BASELINES, key=lambda name: float(rankings[name]["auprc"].mean()))


def _documents(instances: pd.DataFrame) -> Iterator[Cell]:
    yield from document_cells(DOCUMENT_COUNTS.id, instances)
    n, codes = len(instances), instances["reason"]
    examined = instances[codes == 0]
    yield from row_cells(DOCUMENT_COUNTS, "", n, {"examined": len(examined)})
    for cell in left_out_cells(DOCUMENT_COUNTS.id, "", codes, REASONS):
        yield {**cell, "row": cell["column"], "column": VALUE}
    yield from row_cells(DOCUMENT_COUNTS, "", n, {"cause": int(instances["cause"].sum())})
    means = {name: mean(defined(examined[name])) for name in ("words", "annotators")}
    numbers = {"marked_share": mean_share(defined(examined["marked_share"])), **means}
    yield from row_cells(DOCUMENT_COUNTS, "", len(examined), numbers)
    usual = defined(instances["usual_share"])
    if len(usual):
        yield from row_cells(DOCUMENT_COUNTS, "", n, {"usual_share": float(usual[0])})
    agreement = defined(instances["annotator_f1"])
    if len(agreement):
        value = {"annotator_f1": mean_share(agreement)}
        yield from row_cells(DOCUMENT_COUNTS, "", len(agreement), value)


def _rankings(rankings: Mapping[str, pd.DataFrame]) -> Iterator[Cell]:
    if not rankings:
        return
    best = rankings[best_baseline(rankings)]["auprc"].to_numpy()
    tests = {
        name: paired(one["auprc"].to_numpy(), best, TEST)
        for name, one in rankings.items()
        if name not in BASELINES
    }
    adjusted = dict(zip(tests, holm([test.p for test in tests.values()]), strict=True))
    for name, one in rankings.items():
        numbers: dict[str, Interval | float] = {
            column: mean_share(one[column].to_numpy()) for column in OF_DOCUMENTS if column in one
        }
        if name in tests:
            test = tests[name]
            numbers["above_baseline"] = (test.difference, test.low, test.high)
            numbers["p"] = float(adjusted[name])
        order = [m.id for m in PLAUSIBILITY.measures if m.id in numbers]
        numbers = {column: numbers[column] for column in order} | {"documents": len(one)}
        yield from row_cells(PLAUSIBILITY, name, len(one), numbers)


def document_values(tables: Tables) -> Iterator[pd.DataFrame]:
    """AUPRC and F1 of each document by each ranking; why, where a document is left out."""
    instances = wide(tables["plausibility_instances"])
    ids = pd.Series(instances.index)
    words = np.array(REASONS, dtype=object)[instances["reason"].to_numpy(dtype=np.int64)]
    for name, one in ranked(tables).items():
        for column in OF_DOCUMENTS:
            if column in one:
                values = one[column].reindex(instances.index)
                yield part(ids, PLAUSIBILITY.id_of(name, column), values, words)
