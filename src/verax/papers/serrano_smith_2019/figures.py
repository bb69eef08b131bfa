"""The paper's figures as chart data. They are images there: nothing is published beside them, but
for numbers in one caption."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from verax.exams.erasure.measures import ALL_DRAWS
from verax.papers.exhibits import Exhibit, entry, frame
from verax.papers.numbers import Number
from verax.papers.points import POINTS
from verax.papers.results import PaperResults
from verax.papers.serrano_smith_2019.architectures import (
    ARCHITECTURES,
    HANRNN,
    OTHERS,
    WITH_ENCODER,
    WITHOUT_ENCODER,
    Architecture,
    Model,
    lines,
    models,
)
from verax.papers.serrano_smith_2019.claims_many import FRACTION, MASS, RANKINGS
from verax.papers.serrano_smith_2019.claims_single import BY_ALPHA, DELTA_JS, NEGATIVES, TENTHS
from verax.papers.serrano_smith_2019.tables import RULES_NOTE, contingency

Make = Callable[[PaperResults], pd.DataFrame]
_BOX = {
    "whisker low": "whisker_low",
    "q1": "q1",
    "median": "median",
    "q3": "q3",
    "whisker high": "whisker_high",
    "mean": "mean",
    "flips": "flips",
    "never flips": "never_flips",
}
"""Measure → column of the fractions and of the mass."""
_BY_ALPHA = {name: name for name in ("documents", "q1", "median", "q3")}
_BY_ALPHA |= {"near 0": "near_zero_share"}
_NEGATIVES = {"documents": "documents", "negative": "negative", "share": "negative_share"}
_RANKINGS = {ALL_DRAWS: "random (5 draws)"}
"""Row → ranking as it is printed, where that is not its name; the studies draw five."""


def delta_js(architectures: Sequence[Architecture]) -> Make:
    """ΔJS against Δα: points of one seed, and quartiles in tenths of Δα of all."""

    def make(results: PaperResults) -> pd.DataFrame:
        rows = []
        for model in models(results, architectures):
            rows += [*_points(model)]
            rows += [*_tenths(model, BY_ALPHA, _BY_ALPHA)]
        return frame(rows)

    return make


def negatives(architectures: Sequence[Architecture]) -> Make:
    """How many ΔJS are negative in each tenth of Δα, and in all."""

    def make(results: PaperResults) -> pd.DataFrame:
        rows = []
        for model in models(results, architectures):
            rows += [*_tenths(model, NEGATIVES, _NEGATIVES)]
            share = model.find(DELTA_JS, "attention", "negative_share")
            rows.append(entry({**model.labels, "delta_alpha": None}, "share of all", share))
        return frame(rows)

    return make


def _tenths(model: Model, table: str, columns: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Numbers by Δα, which is the middle of a tenth."""
    for place, row in enumerate(TENTHS):
        labels = {**model.labels, "delta_alpha": round(0.1 * place + 0.05, 2)}
        for measure, column in columns.items():
            yield entry(labels, measure, model.find(table, row, column))


def _points(model: Model) -> Iterator[dict[str, Any]]:
    """Single documents, thinned already, of the model's first seed that has them."""
    points = model.results.table_by_cell(POINTS)
    seeds = model.results.select(**model.where)["cell"]
    cell = next((key for key in seeds if key in points), None)
    if cell is None:
        return
    for row in points[cell].sort_values(["delta_alpha", "id"]).itertuples():
        labels = {**model.labels, "delta_alpha": row.delta_alpha, "document": row.id}
        value = float(row.delta_js)  # type: ignore[arg-type]
        yield entry(labels, "ΔJS", Number.of([value], [str(cell)], 1))


def boxes(table: str, architectures: Sequence[Architecture]) -> Make:
    """Box plots by ranking of the fraction of items, or the mass, that goes before a flip."""

    def make(results: PaperResults) -> pd.DataFrame:
        rows = []
        for model in lines(results, architectures):
            there = results.rows(table, "median", **model.where)
            for ranking in dict.fromkeys([*RANKINGS, *there]):
                labels = {**model.labels, "ranking": _RANKINGS.get(ranking, ranking)}
                for measure, column in _BOX.items():
                    rows.append(entry(labels, measure, model.find(table, ranking, column)))
                theirs = _caption(model, ranking) if table == FRACTION else float("nan")
                number = model.find(table, ranking, "above_half")
                rows.append(entry(labels, "above ½", number, theirs))
        return frame(rows)

    return make


def _caption(model: Model, ranking: str) -> float:
    metric = "pct_instances_removed_fraction_gt_0.50"
    return model.published("text", metric, f"{ranking}_ranking")


_POINTS_NOTE = (
    "Points are of one seed, at most 10 in each 0.005 of Δα as in the authors' code, which also "
    "leaves out the largest ΔJS; quartiles are of all documents and seeds."
)
_NEGATIVE_NOTE = "In tenths of Δα; of the documents in each, how many there are and their share."
_BOX_NOTE = (
    "Of the documents that a ranking flips; never flips counts the others. optimum is the smallest "
    "set there is, which the paper does not have, and random (5 draws) averages draws. "
    "above ½ is in percent."
)

EXHIBITS: tuple[Exhibit, ...] = (
    Exhibit(
        "figure3",
        "ΔJS of the top and a random item against the difference of their weights: HANrnn",
        delta_js(HANRNN),
        _POINTS_NOTE,
    ),
    Exhibit(
        "figure4",
        "Documents with a negative ΔJS, by the difference of weights: HANrnn",
        negatives(HANRNN),
        _NEGATIVE_NOTE,
    ),
    Exhibit(
        "figure5",
        "Fraction of items erased before the decision flips: models with an encoder",
        boxes(FRACTION, WITH_ENCODER),
        _BOX_NOTE,
    ),
    Exhibit(
        "figure6",
        "Fraction of items erased before the decision flips: models without an encoder",
        boxes(FRACTION, WITHOUT_ENCODER),
        f"{_BOX_NOTE} Published: shares in the caption, for FLANnoenc on Amazon.",
    ),
    Exhibit(
        "figure7",
        "ΔJS of the top and a random item against the difference of their weights: the others",
        delta_js(OTHERS),
        _POINTS_NOTE,
    ),
    Exhibit(
        "figure8",
        "Documents with a negative ΔJS, by the difference of weights: the others",
        negatives(OTHERS),
        _NEGATIVE_NOTE,
    ),
    Exhibit(
        "figure9",
        "Decisions that flip with the top item by attention, a random one, both or neither, "
        "in percent",
        contingency("attention", ARCHITECTURES),
        RULES_NOTE,
    ),
    Exhibit(
        "figure10",
        "Fraction of items erased before the decision flips: all models",
        boxes(FRACTION, ARCHITECTURES),
        _BOX_NOTE,
    ),
    Exhibit(
        "figure11",
        "Attention erased before the decision flips: all models",
        boxes(MASS, ARCHITECTURES),
        _BOX_NOTE,
    ),
    Exhibit(
        "figure12",
        "Decisions that flip with the top item by gradient, a random one, both or neither, "
        "in percent",
        contingency("gradient", ARCHITECTURES),
        RULES_NOTE,
    ),
    Exhibit(
        "figure13",
        "Decisions that flip with the top item by attention times gradient, a random one, both or "
        "neither, in percent",
        contingency("product", ARCHITECTURES),
        RULES_NOTE,
    ),
)
