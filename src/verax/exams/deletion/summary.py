"""Words to take out, over the deletion exam's tidy tables: means, and differences from chance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from verax.exams.cells import Cell, defined, document_cells, row_cells
from verax.exams.deletion.measures import (
    BEST,
    DELETION,
    DOCUMENT_COUNTS,
    NAME,
    RANDOM,
    SMALLEST,
)
from verax.exams.tables import wide
from verax.exams.values import Tables, part
from verax.exams.verdict import summary_frame
from verax.statistics import Interval, holm, mean, mean_share, paired, quantile, ratio

TEST = "permutation"
"""The paired test of a ranking against random order: of the mean difference, by flips of signs."""

Values = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Ranked:
    """One ranking over documents that change when part of their words is gone.

    size, share, excess  (documents,) means over draws; all words where it never changes a decision
    never, everything    (documents,) shares of the draws
    """

    size: Values
    share: Values
    excess: Values
    never: Values
    everything: Values


def summarise(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Documents, each ranking beside random order and the smallest sets, and these."""
    instances = wide(tables["deletion_instances"])
    smallest = _smallest(tables)
    rows = [*_documents(instances, smallest)]
    if len(smallest):
        found = smallest[part_is_enough(smallest)]
        rows += [*_rankings(ranked(tables), found), *_best(found)]
    return summary_frame(NAME, rows)


def _smallest(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    table = tables["deletion_smallest"]
    return wide(table) if len(table) else pd.DataFrame(columns=["upper", "share", "everything"])


def part_is_enough(smallest: pd.DataFrame) -> NDArray[np.bool_]:
    """Which documents change when some of their words are gone, and not only when all are."""
    return np.asarray(smallest["upper"].notna() & (smallest["everything"] != 1))


def ranked(tables: Mapping[str, pd.DataFrame]) -> dict[str, Ranked]:
    """Each ranking, in the table's order, random orders last."""
    smallest = _smallest(tables)
    enough = part_is_enough(smallest)
    instances = wide(tables["deletion_instances"])
    words = instances["words"].reindex(smallest.index).to_numpy(dtype=np.float64)[enough]
    upper = smallest["upper"].to_numpy(dtype=np.float64)[enough]
    rankings = {}
    table = tables["deletion"]
    for name, frame in table.groupby("ranking", sort=False, observed=True):
        draws = wide(frame, "draw")["size"].unstack("draw").to_numpy(dtype=np.float64)[enough]
        size = np.where(np.isnan(draws), words[:, None], draws)
        rankings[str(name)] = Ranked(
            size.mean(1),
            (size / words[:, None]).mean(1),
            (size - upper[:, None]).mean(1),
            np.isnan(draws).mean(1),
            (draws == words[:, None]).mean(1),
        )
    return rankings


def _documents(instances: pd.DataFrame, smallest: pd.DataFrame) -> Iterator[Cell]:
    yield from document_cells(DOCUMENT_COUNTS.id, instances)
    examined = instances["examined"] == 1
    coarse = instances["resolution"] > 1
    counts = {
        "one_word": int((~examined).sum()),
        "examined": int(examined.sum()),
        "never": int(smallest["upper"].isna().sum()),
        "everything": int((smallest["everything"] == 1).sum()),
        "part": int(part_is_enough(smallest).sum()),
        "coarse": int(coarse.sum()),
    }
    yield from row_cells(DOCUMENT_COUNTS, "", len(instances), counts)
    means = {name: mean(defined(instances[name])) for name in ("words", "resolution")}
    yield from row_cells(DOCUMENT_COUNTS, "", len(instances), means)


def _rankings(rankings: Mapping[str, Ranked], smallest: pd.DataFrame) -> Iterator[Cell]:
    n = len(smallest)
    least = smallest["share"].to_numpy(dtype=np.float64)
    chance = rankings[RANDOM]
    others = {name: one for name, one in rankings.items() if name != RANDOM}
    tests = {name: paired(chance.share, one.share, TEST) for name, one in others.items()}
    adjusted = dict(zip(tests, holm([test.p for test in tests.values()]), strict=True))
    for name, one in rankings.items():
        numbers: dict[str, Interval | float] = {
            "share": mean_share(one.share),
            "words": mean(one.size),
        }
        if name in tests:
            test = tests[name]
            numbers["fewer_than_random"] = (test.difference, test.low, test.high)
            numbers["p"] = float(adjusted[name])
            numbers["gain"] = gain(one.share, chance.share, least)
        numbers["excess"] = mean(one.excess)
        numbers["as_small"] = mean_share((one.excess == 0).astype(np.float64))
        counts = {
            "documents": n,
            "never": round(float(one.never.sum())),
            "everything": round(float(one.everything.sum())),
        }
        yield from row_cells(DELETION, name, n, {**numbers, **counts})


def gain(share: Values, chance: Values, least: Values) -> Interval:
    """How much of the way from random order to the smallest sets a ranking goes, over documents.

    1 is as good as the smallest sets found, 0 as random order; NaN where random order finds them.
    """
    value, low, high = ratio(chance - share, chance - least).interval
    return value, low, min(high, 1.0)


def _best(smallest: pd.DataFrame) -> Iterator[Cell]:
    upper, share = (smallest[name].to_numpy(dtype=np.float64) for name in ("upper", "share"))
    numbers: dict[str, Interval | float] = {
        "upper": mean(upper),
        "upper_share": mean_share(share),
        "upper_median": quantile(upper, 0.5),
        "one_word": mean_share((upper == 1).astype(np.float64)),
    }
    yield from row_cells(BEST, SMALLEST, len(smallest), numbers)


def document_values(tables: Tables) -> Iterator[pd.DataFrame]:
    """Shares of words and words beyond the smallest set by each ranking, and the smallest sets."""
    instances = wide(tables["deletion_instances"])
    smallest = _smallest(tables).reindex(instances.index)
    ids = pd.Series(instances.index)
    enough = part_is_enough(smallest)
    why = np.where(
        smallest["everything"] == 1,
        "changes only when all words are gone",
        "nothing that was tried changes it",
    )
    reasons = np.where(instances["examined"] == 0, "one word", why).astype(object)

    def spread(values: Values) -> pd.Series:
        whole = np.full(len(instances), np.nan)
        whole[enough] = values
        return pd.Series(whole, index=instances.index)

    for name, one in ranked(tables).items():
        for column, values in (("share", one.share), ("excess", one.excess)):
            yield part(ids, DELETION.id_of(name, column), spread(values), reasons)
    for column, name in (("upper", "upper"), ("upper_share", "share")):
        least = smallest[name].where(pd.Series(enough, index=smallest.index))
        yield part(ids, BEST.id_of(SMALLEST, column), least, reasons)
