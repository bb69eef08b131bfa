"""Words to take out, over the deletion exam's tidy tables: means, and differences from chance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from verax.exams.cells import Cell, defined, document_cells, row_cells
from verax.exams.deletion.measures import (
    ALL,
    BEST,
    DELETION,
    DOCUMENT_COUNTS,
    EXACT,
    KEPT,
    LENGTHS,
    NAME,
    RANDOM,
    SMALLEST,
    SUFFICIENT,
    length_row,
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
    excess_most          the same beyond the lower bound; NaN where there is none
    never, everything    (documents,) shares of the draws
    """

    size: Values
    share: Values
    excess: Values
    excess_most: Values
    never: Values
    everything: Values


def summarise(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Documents, each ranking beside random order and the smallest sets, and these."""
    instances = wide(tables["deletion_instances"])
    smallest, kept = _sets(tables, "deletion_smallest"), _sets(tables, "deletion_sufficient")
    rows = [*_documents(instances, smallest, kept)]
    if len(smallest):
        part = smallest[part_is_enough(smallest)]
        rows += [*_rankings(ranked(tables), part), *_best(part)]
    if len(kept):
        rows += _kept(kept)
    if len(smallest):
        rows += _exact(instances["words"].reindex(smallest.index), smallest, kept)
    return summary_frame(NAME, rows)


def _sets(tables: Mapping[str, pd.DataFrame], name: str) -> pd.DataFrame:
    """The bounds of smallest sets, a row a document."""
    table = tables.get(name)
    columns = ["upper", "share", "everything", "lower", "exact"]
    if table is None or not len(table):
        return pd.DataFrame(columns=columns, dtype=np.float64)
    return wide(table)[columns]


def part_is_enough(smallest: pd.DataFrame) -> NDArray[np.bool_]:
    """Which documents change when some of their words are gone, and not only when all are."""
    return np.asarray(smallest["upper"].notna() & (smallest["everything"] != 1))


def ranked(tables: Mapping[str, pd.DataFrame]) -> dict[str, Ranked]:
    """Each ranking, in the table's order, random orders last."""
    smallest = _sets(tables, "deletion_smallest")
    enough = part_is_enough(smallest)
    instances = wide(tables["deletion_instances"])
    words = instances["words"].reindex(smallest.index).to_numpy(dtype=np.float64)[enough]
    upper, lower = (smallest[n].to_numpy(dtype=np.float64)[enough] for n in ("upper", "lower"))
    rankings = {}
    table = tables["deletion"]
    for name, frame in table.groupby("ranking", sort=False, observed=True):
        draws = wide(frame, "draw")["size"].unstack("draw").to_numpy(dtype=np.float64)[enough]
        size = np.where(np.isnan(draws), words[:, None], draws)
        rankings[str(name)] = Ranked(
            size.mean(1),
            (size / words[:, None]).mean(1),
            (size - upper[:, None]).mean(1),
            (size - lower[:, None]).mean(1),
            np.isnan(draws).mean(1),
            (draws == words[:, None]).mean(1),
        )
    return rankings


def _documents(
    instances: pd.DataFrame, smallest: pd.DataFrame, kept: pd.DataFrame
) -> Iterator[Cell]:
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
    if len(smallest):
        proven = smallest["exact"] == 1
        counts["never_proven"] = int((smallest["upper"].isna() & proven).sum())
        counts["everything_proven"] = int(((smallest["everything"] == 1) & proven).sum())
    if len(kept):
        counts["nothing"] = int((kept["upper"] == 0).sum())
    yield from row_cells(DOCUMENT_COUNTS, "", len(instances), counts)
    means = {n: mean(defined(instances[n])) for n in ("words", "resolution", "passes")}
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
        if not np.isnan(one.excess_most).any():
            numbers["excess_most"] = mean(one.excess_most)
            numbers["optimal"] = mean_share((one.excess_most == 0).astype(np.float64))
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
    yield from row_cells(BEST, SMALLEST, len(smallest), _bounds(smallest))


def _kept(kept: pd.DataFrame) -> Iterator[Cell]:
    numbers = {**_bounds(kept), "documents": len(kept)}
    yield from row_cells(KEPT, SUFFICIENT, len(kept), numbers)


def _bounds(sets: pd.DataFrame) -> dict[str, Interval | float]:
    names = ("upper", "share", "lower", "exact")
    upper, share, lower, exact = (sets[name].to_numpy(dtype=np.float64) for name in names)
    return {
        "lower": mean(lower),
        "gap": mean(upper - lower),
        "exact": mean_share(exact),
        "upper": mean(upper),
        "upper_share": mean_share(share),
        "upper_median": quantile(upper, 0.5),
        "one_word": mean_share((upper == 1).astype(np.float64)),
    }


def _exact(words: pd.Series, smallest: pd.DataFrame, kept: pd.DataFrame) -> Iterator[Cell]:
    """The share of documents whose smallest sets are exact, all and by length."""
    for least, most in ((0, None), *LENGTHS):
        chosen = (words >= least) & (words <= (np.inf if most is None else most))
        n = int(chosen.sum())
        if not n:
            continue
        numbers: dict[str, Interval | float] = {
            "exact": mean_share(defined(smallest.loc[chosen, "exact"])),
            "documents": n,
        }
        if len(kept):
            both = kept.reindex(smallest.index).loc[chosen, "exact"]
            numbers["sufficient_exact"] = mean_share(defined(both))
        row = ALL if least == 0 else length_row(least, most)
        yield from row_cells(EXACT, row, n, numbers)


def document_values(tables: Tables) -> Iterator[pd.DataFrame]:
    """Shares of words and words beyond the smallest set by each ranking, and the smallest sets."""
    instances = wide(tables["deletion_instances"])
    smallest = _sets(tables, "deletion_smallest").reindex(instances.index)
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
        columns = {"share": one.share, "excess": one.excess, "excess_most": one.excess_most}
        if np.isnan(one.excess_most).all():
            del columns["excess_most"]
        for column, values in columns.items():
            yield part(ids, DELETION.id_of(name, column), spread(values), reasons)
    named = {"upper": "upper", "upper_share": "share", "lower": "lower"}
    for column, name in named.items():
        least = smallest[name].where(pd.Series(enough, index=smallest.index))
        yield part(ids, BEST.id_of(SMALLEST, column), least, reasons)
    kept = _sets(tables, "deletion_sufficient").reindex(instances.index)
    if len(kept) and bool(kept["upper"].notna().any()):
        for column in ("lower", "upper"):
            alone = np.full(len(instances), "one word", dtype=object)
            yield part(ids, KEPT.id_of(SUFFICIENT, column), kept[column], alone)
