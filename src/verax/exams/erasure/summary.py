"""The paper's tables, over the tidy tables of the erasure exam."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from verax.exams.intervals import Interval, mean, proportion, quantile
from verax.exams.tables import wide
from verax.exams.verdict import summary_frame

BIN = 0.1
_FIVE = (("min", 0.0), ("q1", 0.25), ("median", 0.5), ("q3", 0.75), ("max", 1.0))
Row = Mapping[str, Any]


def summarise(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Documents, contingency, ΔJS, its negatives by Δα, k/n, mass, excess and pairs."""
    instances = wide(tables["erasure_instances"])
    single, many, minimal = (tables[f"erasure_{n}"] for n in ("single", "many", "minimal"))
    least = wide(minimal) if len(minimal) else pd.DataFrame()
    rankings = _rankings(many)
    rows = [*_documents(instances, rankings, least)]
    if len(single):
        tops = {key: wide(part) for key, part in _parts(single, "top", "rule")}
        rows += [*_contingency(tops), *_delta_js(tops), *_negatives(tops)]
        rows += [*_numbers("fraction", rankings, least), *_numbers("mass", rankings, least)]
        rows += [*_excess(rankings, least), *_pairs(rankings)]
    return summary_frame("erasure", rows)


def _parts(table: pd.DataFrame, *labels: str) -> Iterator[tuple[tuple[Any, ...], pd.DataFrame]]:
    """The table cut by its labels, in the order in which they first come."""
    for key, part in table.groupby(list(labels), sort=False, observed=True):
        yield key, part.drop(columns=list(labels))


def _rankings(many: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Each ranking's measures; random ones by their first draw, and all draws averaged."""
    if not len(many):
        return {}
    found = {key: wide(part) for key, part in _parts(many, "ranking", "draw")}
    rankings = {name: frame for (name, draw), frame in found.items() if draw == 0}
    draws = [frame for (name, _), frame in found.items() if name == "random"]
    if len(draws) > 1:
        stacked = np.stack([d.to_numpy() for d in draws])
        there = ~np.isnan(stacked)
        total = np.where(there, stacked, 0.0).sum(0)
        count = there.sum(0)
        average = np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0)
        first = draws[0]
        rankings[f"random ({len(draws)} draws)"] = pd.DataFrame(average, first.index, first.columns)
    return rankings


def _documents(
    instances: pd.DataFrame, rankings: Mapping[str, pd.DataFrame], least: pd.DataFrame
) -> Iterator[Row]:
    n = len(instances)
    examined = instances["examined"] == 1
    correct = instances["correct"].dropna().to_numpy()
    if len(correct):
        share = proportion(int(correct.sum()), len(correct))
        yield _percent("documents", "accuracy", "value", share, len(correct))
    counts = {
        "documents": n,
        "set aside: one item": int((~examined).sum()),
        "examined": int(examined.sum()),
        "no ranking flips it": _none_flips(rankings),
        "no erasure flips it": int(least["size"].isna().sum()) if len(least) else 0,
        "flips only when all weight is erased": int((least["everything"] == 1).sum())
        if len(least)
        else 0,
        "decision tied (settled by class order)": int(instances["tied"].sum()),
        "decision differs in double precision": int(instances["decision_differs"].sum()),
        "minimal set searched for, not certified": int((least["certified"] == 0).sum())
        if len(least)
        else 0,
    }
    for row, count in counts.items():
        yield _count("documents", row, "value", count, n)


def _none_flips(rankings: Mapping[str, pd.DataFrame]) -> int:
    if not rankings:
        return 0
    never = np.stack([frame["size"].isna().to_numpy() for frame in rankings.values()])
    return int(never.all(0).sum())


def _contingency(tops: Mapping[tuple[Any, ...], pd.DataFrame]) -> Iterator[Row]:
    """Percent of documents whose decision flips with the top item, a random one, both, neither."""
    for (top, rule), frame in tops.items():
        by_top, by_random = frame["flips_top"] == 1, frame["flips_random"] == 1
        cells = {
            "both": by_top & by_random,
            "only top": by_top & ~by_random,
            "only random": ~by_top & by_random,
            "neither": ~by_top & ~by_random,
        }
        for column, cell in cells.items():
            share = proportion(int(cell.sum()), len(frame))
            yield _percent("contingency", _by(top, rule), column, share, len(frame))


def _delta_js(tops: Mapping[tuple[Any, ...], pd.DataFrame]) -> Iterator[Row]:
    for (top, rule), frame in tops.items():
        values, n = frame["delta_js"].to_numpy(), len(frame)
        row = _by(top, rule)
        yield _number("delta_js", row, "mean", mean(values), n)
        for column, q in _FIVE:
            yield _number("delta_js", row, column, quantile(values, q), n)
        share = proportion(int((values < 0).sum()), n)
        yield _percent("delta_js", row, "negative", share, n)
        yield _number("delta_js", row, "mean Δα", mean(frame["delta_alpha"].to_numpy()), n)


def _negatives(tops: Mapping[tuple[Any, ...], pd.DataFrame]) -> Iterator[Row]:
    """Documents and negative ΔJS in each tenth of Δα, for the top item by attention."""
    frame = tops["attention", "paper"]
    edges = np.round(np.arange(0, 1 + BIN, BIN), 6)
    # attention's top item has the largest weight, so Δα lies in [0, 1]; 1 belongs to the last bin
    place = np.clip(np.digitize(frame["delta_alpha"], edges) - 1, 0, len(edges) - 2)
    for number, (low, high) in enumerate(itertools.pairwise(edges)):
        there = place == number
        negative = int((frame["delta_js"].to_numpy()[there] < 0).sum())
        row, n = f"Δα {low:.1f} to {high:.1f}", int(there.sum())
        yield _count("negative_delta_js", row, "documents", n, n)
        yield _count("negative_delta_js", row, "negative", negative, n)
        yield _percent("negative_delta_js", row, "share", proportion(negative, n), n)


def _numbers(
    measure: str, rankings: Mapping[str, pd.DataFrame], least: pd.DataFrame
) -> Iterator[Row]:
    """Five numbers, mean, share above a half and never-flips of each ranking and the optimum."""
    for name, frame in {**rankings, "optimum": least}.items():
        values, n = _there(frame[measure])
        for column, q in _FIVE:
            yield _number(measure, name, column, quantile(values, q), len(values))
        yield _number(measure, name, "mean", mean(values), len(values))
        share = proportion(int((values > 0.5).sum()), len(values))
        yield _percent(measure, name, "above ½", share, len(values))
        yield _count(measure, name, "never flips", n - len(values), n)


def _excess(rankings: Mapping[str, pd.DataFrame], least: pd.DataFrame) -> Iterator[Row]:
    """How many more items than the optimum a ranking takes, where it flips the decision at all."""
    for name, frame in rankings.items():
        excess, _ = _there(frame["excess"])
        ratio, _ = _there(frame["ratio"])
        n = len(excess)
        yield _number("excess", name, "mean", mean(excess), n)
        for column, q in _FIVE[1:]:
            yield _number("excess", name, column, quantile(excess, q), n)
        yield _percent("excess", name, "optimal", proportion(int((excess == 0).sum()), n), n)
        yield _number("excess", name, "mean ratio", mean(ratio), n)
        yield _number("excess", name, "median ratio", quantile(ratio, 0.5), n)


def _pairs(rankings: Mapping[str, pd.DataFrame]) -> Iterator[Row]:
    """Which of two rankings flips with fewer items, where at least one of them does.

    One that flips beats one that does not. Shares are of those documents ("of flips", the authors'
    code) and of all examined ("of all", as the paper words it).
    """
    single = {name: frame for name, frame in rankings.items() if "draws)" not in name}
    for one, other in itertools.combinations(single, 2):
        left, right = (single[n]["size"].fillna(np.inf).to_numpy() for n in (one, other))
        n = len(left)
        flips = np.isfinite(left) | np.isfinite(right)
        fewer, more = int((left < right).sum()), int((left > right).sum())
        row, of = f"{one} : {other}", int(flips.sum())
        yield _count("pairs", row, "fewer", fewer, of)
        yield _count("pairs", row, "same", of - fewer - more, of)
        yield _count("pairs", row, "more", more, of)
        for column, count in (("fewer", fewer), ("more", more)):
            yield _percent("pairs", row, f"{column}, of flips", proportion(count, of), of)
            yield _percent("pairs", row, f"{column}, of all", proportion(count, n), n)


def _there(column: pd.Series) -> tuple[NDArray[np.float64], int]:
    """What is defined, and how many there would be."""
    values = column.to_numpy(dtype=np.float64)
    return values[~np.isnan(values)], len(values)


def _by(top: str, rule: str) -> str:
    return top if rule == "paper" else f"{top} ({rule}' rule)"


def _number(table: str, row: str, column: str, interval: Interval, n: int) -> Row:
    value, low, high = interval
    cell = {"table": table, "row": row, "column": column, "n": n, "unit": "number"}
    return {**cell, "value": value, "low": low, "high": high}


def _percent(table: str, row: str, column: str, interval: Interval, n: int) -> Row:
    value, low, high = (100 * x for x in interval)
    return {**_number(table, row, column, (value, low, high), n), "unit": "percent"}


def _count(table: str, row: str, column: str, count: int, n: int) -> Row:
    nothing = float("nan")
    return {**_number(table, row, column, (count, nothing, nothing), n), "unit": "count"}
