"""Comprehensiveness and sufficiency over tidy tables: means, differences from chance, gains."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from verax.exams.cells import Cell, defined, document_cells, row_cells
from verax.exams.sufficiency.measures import (
    AGAINST_RANDOM,
    AT,
    BEST,
    CHANGED,
    COMPREHENSIVENESS,
    DOCUMENT_COUNTS,
    GAIN,
    KEPT,
    LEAST_SPAN,
    NAME,
    NORMALISED,
    RANDOM,
    RANKED,
    SUFFICIENCY,
    P,
    at_column,
)
from verax.exams.tables import wide
from verax.exams.values import Tables, part
from verax.exams.verdict import summary_frame
from verax.statistics import Interval, Paired, holm, mean, mean_share, paired, ratio

TEST = "permutation"
"""The paired test of a ranking against random order: of the mean difference, by flips of signs."""
SIGNS = {COMPREHENSIVENESS: 1.0, SUFFICIENCY: -1.0}
"""Which way is better."""
SHARES = (*NORMALISED.values(), CHANGED, KEPT)
"""Measures from 0 to 1."""
MEASURES = (COMPREHENSIVENESS, SUFFICIENCY, *SHARES)

Values = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Ranked:
    """One ranking's measures, or those of the best sets, over documents of two words or more.

    percentages  as tables have them
    values       measure → (documents, percentages)
    """

    percentages: list[str]
    values: Mapping[str, Values]

    def mean(self, measure: str) -> Values:
        """(documents,): the mean over percentages."""
        return self.values[measure].mean(1)


def rankings_of(tables: Tables) -> dict[str, Ranked]:
    """Each ranking, in the table's order, random order, and then the best sets found."""
    table = tables["sufficiency"]
    parts = {
        str(name): frame for name, frame in table.groupby("ranking", sort=False, observed=True)
    }
    parts = {**{n: f for n, f in parts.items() if n != RANDOM}, RANDOM: parts[RANDOM]}
    return {
        name: _ranked(frame) for name, frame in {**parts, BEST: tables["sufficiency_best"]}.items()
    }


def _ranked(frame: pd.DataFrame) -> Ranked:
    percentages = [str(one) for one in dict.fromkeys(frame["percentage"])]
    by = wide(frame.astype({"percentage": str}), "percentage")
    values = {
        str(name): by[name].unstack("percentage")[percentages].to_numpy(dtype=np.float64)
        for name in by.columns
    }
    return Ranked(percentages, values)


def summarise(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Documents, each ranking beside random order and the best sets, and both by percentage."""
    instances = wide(tables["sufficiency_instances"])
    rows = [*_documents(instances)]
    if len(tables["sufficiency"]):
        rankings = rankings_of(tables)
        rows += [*_ranking_cells(rankings), *_at_cells(rankings)]
    return summary_frame(NAME, rows)


def _documents(instances: pd.DataFrame) -> Iterator[Cell]:
    yield from document_cells(DOCUMENT_COUNTS.id, instances)
    examined = instances["examined"] == 1
    span = instances["probability"] - instances["empty"]
    counts = {
        "no_words": int((instances["words"] == 0).sum()),
        "one_word": int((instances["words"] == 1).sum()),
        "examined": int(examined.sum()),
        "no_span": int((examined & (span < LEAST_SPAN)).sum()),
        "not_searched": int((examined & (instances["rounds"] == 0)).sum()),
    }
    yield from row_cells(DOCUMENT_COUNTS, "", len(instances), counts)
    names = ("words", "probability", "empty", "asked")
    means = {name: mean(defined(instances[name])) for name in names}
    for name in ("probability", "empty"):
        means[name] = mean_share(defined(instances[name]))
    yield from row_cells(DOCUMENT_COUNTS, "", len(instances), means)


def _tests(rankings: Mapping[str, Ranked]) -> dict[tuple[str, str], tuple[Paired, float]]:
    """(ranking, measure) → its test against random order, and p by Holm over all of them."""
    others = [name for name in rankings if name not in (RANDOM, BEST)]
    tests = {
        (name, measure): paired(
            sign * rankings[name].mean(measure), sign * rankings[RANDOM].mean(measure), TEST
        )
        for name in others
        for measure, sign in SIGNS.items()
    }
    adjusted = holm([test.p for test in tests.values()])
    return {key: (tests[key], float(p)) for key, p in zip(tests, adjusted, strict=True)}


def _ranking_cells(rankings: Mapping[str, Ranked]) -> Iterator[Cell]:
    tests = _tests(rankings)
    for name, one in rankings.items():
        n = len(one.mean(COMPREHENSIVENESS))
        for measure, decided in ((COMPREHENSIVENESS, CHANGED), (SUFFICIENCY, KEPT)):
            numbers: dict[str, Interval | float] = {measure: mean(one.mean(measure))}
            if (name, measure) in tests:
                test, p = tests[name, measure]
                numbers[AGAINST_RANDOM[measure]] = (test.difference, test.low, test.high)
                numbers[P[measure]] = p
                numbers[GAIN[measure]] = gain(rankings, name, measure)
            numbers[decided] = mean_share(one.mean(decided))
            yield from row_cells(RANKED, name, n, numbers)
            normalised = one.mean(NORMALISED[measure])
            normalised = normalised[~np.isnan(normalised)]
            numbers = {NORMALISED[measure]: mean_share(normalised)}
            yield from row_cells(RANKED, name, len(normalised), numbers)
        if name == BEST:
            exact = mean_share(one.mean("exact"))
            yield from row_cells(RANKED, name, n, {"exact": exact})
        yield from row_cells(RANKED, name, n, {"documents": n})


def gain(rankings: Mapping[str, Ranked], name: str, measure: str) -> Interval:
    """How much of the way from random order to the best sets found a ranking goes.

    1 is as good as the best sets, 0 as random order; NaN where random order is as good.
    """
    one, chance, best = (SIGNS[measure] * rankings[n].mean(measure) for n in (name, RANDOM, BEST))
    value, low, high = ratio(one - chance, best - chance).interval
    return min(value, 1.0), low, min(high, 1.0)


def _at_cells(rankings: Mapping[str, Ranked]) -> Iterator[Cell]:
    for measure, table in AT.items():
        for name, one in rankings.items():
            values = one.values[measure]
            average = mean_share if measure in SHARES else mean
            numbers = {
                at_column(percentage): average(values[:, k])
                for k, percentage in enumerate(one.percentages)
            }
            yield from row_cells(table, name, len(values), numbers)


def document_values(tables: Tables) -> Iterator[pd.DataFrame]:
    """Means over percentages of each ranking and of the best sets found."""
    if not len(tables["sufficiency"]):
        return
    instances = wide(tables["sufficiency_instances"])
    ids = pd.Series(instances.index)
    examined = (instances["examined"] == 1).to_numpy()
    few = np.where(instances["words"] == 0, "no words", "one word")
    reasons = np.where(examined, "decided as surely without words", few).astype(object)
    for name, one in rankings_of(tables).items():
        for measure in MEASURES:
            values = np.full(len(instances), np.nan)
            values[examined] = one.mean(measure)
            series = pd.Series(values, index=instances.index)
            yield part(ids, RANKED.id_of(name, measure), series, reasons)
