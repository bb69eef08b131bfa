"""The paper's tables, over the tidy tables of the erasure exam."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from verax.exams.cells import Cell, defined, row_cells
from verax.exams.erasure.measures import (
    ALL_DRAWS,
    BY_ALPHA,
    CONTINGENCY,
    DELTA_JS,
    DOCUMENT_COUNTS,
    EXCESS,
    FRACTION,
    MASS,
    NEGATIVE,
    OPTIMUM,
    PAIRS,
    RANDOM,
    pair,
    tenth,
    variant,
)
from verax.exams.measures import Table
from verax.exams.tables import wide
from verax.exams.verdict import summary_frame
from verax.statistics.intervals import Interval, mean, mean_share, proportion, quantile, whiskers
from verax.statistics.ratios import ratio, share

BIN = 0.1
NEAR = 0.01
"""A ΔJS nearer to 0 says little of which item mattered more."""
EVEN = 1e-6
"""Rounding: of n equal weights the k largest have k/n, and of others more."""
_FIVE = (("min", 0.0), ("q1", 0.25), ("median", 0.5), ("q3", 0.75), ("max", 1.0))


def summarise(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Documents, contingency, ΔJS, its negatives and it by Δα, k/n, mass, excess and pairs."""
    instances = wide(tables["erasure_instances"])
    single, many, minimal = (tables[f"erasure_{n}"] for n in ("single", "many", "minimal"))
    least = wide(minimal) if len(minimal) else pd.DataFrame()
    rankings = _rankings(many)
    rows = [*_documents(instances, rankings, least)]
    if len(single):
        tops = {key: wide(part) for key, part in _parts(single, "top", "rule")}
        rows += [*_contingency(tops), *_delta_js(tops), *_negatives(tops), *_by_alpha(tops)]
        rows += [*_numbers("fraction", FRACTION, rankings, least)]
        rows += [*_numbers("mass", MASS, rankings, least)]
        items = instances["items"].reindex(least.index).to_numpy(dtype=np.float64)
        rows += [*_excess(rankings, least, items), *_pairs(rankings)]
    return summary_frame("erasure", rows)


def _parts(table: pd.DataFrame, *labels: str) -> Iterator[tuple[tuple[Any, ...], pd.DataFrame]]:
    """The table cut by its labels, in the order in which they first come."""
    for key, part in table.groupby(list(labels), sort=False, observed=True):
        yield key, part.drop(columns=list(labels))


def _rankings(many: pd.DataFrame) -> dict[str, list[pd.DataFrame]]:
    """Each ranking's measures: one frame, but for random ones.

    `random` is the first draw; `random@all` has them all, and its numbers are averages of each
    draw's.
    """
    if not len(many):
        return {}
    frames = {key: wide(part) for key, part in _parts(many, "ranking", "draw")}
    rankings = {name: [frame] for (name, draw), frame in frames.items() if draw == 0}
    draws = [frame for (name, _), frame in frames.items() if name == RANDOM]
    if len(draws) > 1:
        rankings[ALL_DRAWS] = draws
    return rankings


def _documents(
    instances: pd.DataFrame, rankings: Mapping[str, list[pd.DataFrame]], least: pd.DataFrame
) -> Iterator[Cell]:
    n, examined = len(instances), instances["examined"] == 1
    correct = instances["correct"].dropna().to_numpy()
    if len(correct):
        right = proportion(int(correct.sum()), len(correct))
        yield from row_cells(DOCUMENT_COUNTS, "", len(correct), {"accuracy": right})
    counts = {
        "documents": n,
        "one_item": int((~examined).sum()),
        "examined": int(examined.sum()),
        "no_ranking_flips": int(_never(rankings).sum()),
        "no_erasure_flips": _count_of(least, lambda frame: frame["size"].isna()),
        "all_weight_needed": _count_of(least, lambda frame: frame["everything"] == 1),
        "tied": int(instances["tied"].sum()),
        "decision_differs": int(instances["decision_differs"].sum()),
        "not_certified": _count_of(least, lambda frame: frame["certified"] == 0),
    }
    yield from row_cells(DOCUMENT_COUNTS, "", n, counts)


def _count_of(least: pd.DataFrame, which: Callable[[pd.DataFrame], pd.Series]) -> int:
    return int(which(least).sum()) if len(least) else 0


def _never(rankings: Mapping[str, list[pd.DataFrame]]) -> NDArray[np.bool_]:
    """Which documents no ranking flips, in any draw."""
    frames = [frame for draws in rankings.values() for frame in draws]
    if not frames:
        return np.zeros(0, dtype=bool)
    never = np.stack([frame["size"].isna().to_numpy() for frame in frames])
    return np.asarray(never.all(axis=0))


def _contingency(tops: Mapping[tuple[Any, ...], pd.DataFrame]) -> Iterator[Cell]:
    """Percent of documents whose decision flips with the top item, a random one, both, neither."""
    for (top, rule), frame in tops.items():
        by_top, by_random = frame["flips_top"] == 1, frame["flips_random"] == 1
        cells = {
            "both": by_top & by_random,
            "top_only": by_top & ~by_random,
            "random_only": ~by_top & by_random,
            "neither": ~by_top & ~by_random,
        }
        n = len(frame)
        shares = {column: proportion(int(cell.sum()), n) for column, cell in cells.items()}
        yield from row_cells(CONTINGENCY, variant(top, rule), n, shares)


def _delta_js(tops: Mapping[tuple[Any, ...], pd.DataFrame]) -> Iterator[Cell]:
    for (top, rule), frame in tops.items():
        values, n, row = frame["delta_js"].to_numpy(), len(frame), variant(top, rule)
        negative = values[values < 0]
        numbers = {
            "mean": mean(values),
            **{column: quantile(values, q) for column, q in _FIVE},
            "negative_share": proportion(len(negative), n),
            "mean_delta_alpha": mean(frame["delta_alpha"].to_numpy()),
        }
        yield from row_cells(DELTA_JS, row, n, numbers)
        near = proportion(int((negative > -NEAR).sum()), len(negative))
        yield from row_cells(DELTA_JS, row, len(negative), {"negative_near_zero_share": near})


def _negatives(tops: Mapping[tuple[Any, ...], pd.DataFrame]) -> Iterator[Cell]:
    """Documents and negative ΔJS in each tenth of Δα, for the top item by attention."""
    for row, values in _tenths(tops["attention", "paper"]):
        negative, n = int((values < 0).sum()), len(values)
        counts = {"documents": n, "negative": negative}
        shares = {"negative_share": proportion(negative, n)}
        yield from row_cells(NEGATIVE, row, n, {**counts, **shares})


def _by_alpha(tops: Mapping[tuple[Any, ...], pd.DataFrame]) -> Iterator[Cell]:
    """Quartiles of ΔJS in each tenth of Δα, and how often it is near 0 on either side."""
    for row, values in _tenths(tops["attention", "paper"]):
        n = len(values)
        numbers: dict[str, Interval | float] = {
            "documents": n,
            "median": quantile(values, 0.5),
            "q1": quantile(values, 0.25),
            "q3": quantile(values, 0.75),
            "near_zero_share": proportion(int((np.abs(values) < NEAR).sum()), n),
        }
        yield from row_cells(BY_ALPHA, row, n, numbers)


def _tenths(frame: pd.DataFrame) -> Iterator[tuple[str, NDArray[np.float64]]]:
    """Each tenth of Δα, and ΔJS of the documents in it."""
    edges = np.round(np.arange(0, 1 + BIN, BIN), 6)
    # attention's top item has the largest weight, so Δα lies in [0, 1]; 1 belongs to the last bin
    place = np.clip(np.digitize(frame["delta_alpha"], edges) - 1, 0, len(edges) - 2)
    values = frame["delta_js"].to_numpy(dtype=np.float64)
    for number, (low, high) in enumerate(itertools.pairwise(edges)):
        yield tenth(low, high), values[place == number]


def _numbers(
    measure: str, table: Table, rankings: Mapping[str, list[pd.DataFrame]], least: pd.DataFrame
) -> Iterator[Cell]:
    """Five numbers and mean of each ranking and the optimum, over the documents it flips.

    Each leaves out what it never flips, so that rows are over different documents; `flips` says
    how many. `common mean` is over those that all of them flip (random ones by the first draw):
    there rows can be compared. Whiskers are a box plot's.
    """
    every = {**rankings, OPTIMUM: [least]}
    first = np.stack([frames[0]["size"].notna().to_numpy() for frames in every.values()])
    common = first.all(0)
    for name, frames in every.items():
        columns = [frame[measure].to_numpy(dtype=np.float64) for frame in frames]
        flipped = [values[~np.isnan(values)] for values in columns]
        n = round(float(np.mean([len(values) for values in flipped])))
        shares = [proportion(int((v > 0.5).sum()), len(v)) for v in flipped]
        numbers = {column: _average([quantile(v, q) for v in flipped]) for column, q in _FIVE}
        numbers |= {"mean": _average([mean(v) for v in flipped]), "above_half": _average(shares)}
        yield from row_cells(table, name, n, numbers)
        counts = {"flips": n, "never_flips": len(least) - n}
        yield from row_cells(table, name, len(least), counts)
        shared = columns[0][common]
        yield from row_cells(table, name, len(shared), {"common_mean": mean(shared)})
        low, high = np.mean([whiskers(values) for values in flipped], axis=0)
        ends = {"whisker_low": float(low), "whisker_high": float(high)}
        yield from row_cells(table, name, n, ends)


def _excess(
    rankings: Mapping[str, list[pd.DataFrame]],
    least: pd.DataFrame,
    items: NDArray[np.float64],
) -> Iterator[Cell]:
    """How many more items than the optimum a ranking takes.

    Numbers are over the documents it flips. `optimal` is of all documents that can be flipped: one
    that a ranking fails to flip is not optimal, and is counted under `never_though_possible`.

    Where nothing flips the decision but to erase all weight, any order that ends there is optimal.
    `optimal_in_part` leaves those out, and `beyond_random` is what is left of it beyond random
    order, document by document. `gain` is how much of the way from random order to the smallest
    sets a ranking goes, in shares of the items: a ranking that never flips takes all.
    """
    enough = part_is_enough(least)
    shares = {n: _share_erased(frames, items)[enough] for n, frames in rankings.items()}
    by_chance = [values for name, values in shares.items() if _is_random(name)]
    smallest = (least["size"].to_numpy(dtype=np.float64) / items)[enough]
    every = {n: [part_optimal(n, f)[enough] for f in frames] for n, frames in rankings.items()}
    chances = [values for name, values in every.items() if _is_random(name)]
    possible = int(least["size"].notna().sum())
    for name, frames in rankings.items():
        flipped = [defined(frame["excess"]) for frame in frames]
        ratios = [defined(frame["ratio"]) for frame in frames]
        n = round(float(np.mean([len(values) for values in flipped])))
        numbers = {
            "mean": _average([mean(v) for v in flipped]),
            **{column: _average([quantile(v, q) for v in flipped]) for column, q in _FIVE[1:]},
            "mean_ratio": _average([mean(v) for v in ratios]),
            "median_ratio": _average([quantile(v, 0.5) for v in ratios]),
        }
        yield from row_cells(EXCESS, name, n, numbers)
        optimal = _average([proportion(int((v == 0).sum()), possible) for v in flipped])
        yield from row_cells(EXCESS, name, possible, {"optimal": optimal})
        in_part = {"optimal_in_part": _average([mean_share(values) for values in every[name]])}
        if chances and enough.any() and not _is_random(name):
            chance = np.mean(chances[-1], axis=0)  # of all draws, if there are several
            in_part["beyond_random"] = (share(every[name][0]) - share(chance)).interval
            gain = _gain(shares[name], by_chance[-1], smallest)
            known = int(enough.sum()) if gain[0] == gain[0] else 0
            yield from row_cells(EXCESS, name, known, {"gain": gain})
        yield from row_cells(EXCESS, name, int(enough.sum()), in_part)
        yield from row_cells(EXCESS, name, possible, {"never_though_possible": possible - n})


def _share_erased(frames: list[pd.DataFrame], items: NDArray[np.float64]) -> NDArray[np.float64]:
    """(documents,) share of the items erased when the decision first flips, the mean over draws."""
    sizes = [frame["size"].to_numpy(dtype=np.float64) for frame in frames]
    return np.mean([np.where(np.isnan(size), items, size) / items for size in sizes], axis=0)


def _gain(
    erased: NDArray[np.float64], chance: NDArray[np.float64], smallest: NDArray[np.float64]
) -> Interval:
    """1 is as good as the smallest sets, 0 as random order; NaN where random order finds them."""
    value, low, high = ratio(chance - erased, chance - smallest).interval
    return value, low, min(high, 1.0)


def _is_random(name: str) -> bool:
    return name in (RANDOM, ALL_DRAWS)


def part_is_enough(least: pd.DataFrame) -> NDArray[np.bool_]:
    """Which documents some erasure flips that leaves weight on an item."""
    return np.asarray(least["size"].notna() & (least["everything"] != 1))


def part_optimal(name: str, frame: pd.DataFrame) -> NDArray[np.float64]:
    """1 where a ranking flips with as few items as anything can; read it where part is enough.

    Uniform attention names no item, whatever order its ties are put in: it is never optimal. The k
    items of most weight have k/n of it only if all n have the same.
    """
    optimal = frame["excess"] == 0
    if name == "attention":
        optimal &= frame["mass"] - frame["fraction"] > EVEN
    return np.asarray(optimal, dtype=np.float64)


def _pairs(rankings: Mapping[str, list[pd.DataFrame]]) -> Iterator[Cell]:
    """Which of two rankings flips with fewer items, where at least one of them does.

    One that flips beats one that does not. Shares are of those documents ("of flips", the authors'
    code) and of all examined ("of all", as the paper words it).
    """
    single = {name: frames[0] for name, frames in rankings.items() if len(frames) == 1}
    for one, other in itertools.combinations(single, 2):
        left, right = (single[n]["size"].fillna(np.inf).to_numpy() for n in (one, other))
        n = len(left)
        flips = np.isfinite(left) | np.isfinite(right)
        fewer, more = int((left < right).sum()), int((left > right).sum())
        row, of = pair(one, other), int(flips.sum())
        counts = {"fewer": fewer, "same": of - fewer - more, "more": more}
        yield from row_cells(PAIRS, row, of, counts)
        for column in ("fewer", "more"):
            for whole, total in (("flips", of), ("all", n)):
                part = {f"{column}_of_{whole}": proportion(counts[column], total)}
                yield from row_cells(PAIRS, row, total, part)


def _average(intervals: list[Interval]) -> Interval:
    """The mean of several draws' numbers, and of the ends of their intervals."""
    value, low, high = (float(x) for x in np.mean(np.array(intervals), axis=0))
    return value, low, high
