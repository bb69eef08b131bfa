"""The paper's figures as chart data.

They are images there: nothing is published beside them but numbers in one caption.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from verax.exams.erasure.measures import ALL_DRAWS
from verax.papers.exhibits import ExhibitList, Rows, entry
from verax.papers.folders import POINTS
from verax.papers.numbers import SeedMean
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


def delta_js(results: PaperResults, architectures: Sequence[Architecture]) -> Rows:
    """ΔJS against Δα: points of one seed, and quartiles in tenths of Δα of all."""
    for model in models(results, architectures):
        yield from _points(model)
        yield from _tenths(model, BY_ALPHA, _BY_ALPHA)


def negatives(results: PaperResults, architectures: Sequence[Architecture]) -> Rows:
    """How many ΔJS are negative in each tenth of Δα, and in all."""
    for model in models(results, architectures):
        yield from _tenths(model, NEGATIVES, _NEGATIVES)
        share = model.find(DELTA_JS, "attention", "negative_share")
        yield entry({**model.labels, "delta_alpha": None}, "share of all", share)


def _tenths(model: Model, table: str, columns: Mapping[str, str]) -> Rows:
    """Numbers by Δα, each at the middle of its tenth."""
    for place, row in enumerate(TENTHS):
        labels = {**model.labels, "delta_alpha": round(0.1 * place + 0.05, 2)}
        for measure, column in columns.items():
            yield entry(labels, measure, model.find(table, row, column))


def _points(model: Model) -> Rows:
    """Points of single documents, thinned, of the model's first seed that has them."""
    points = model.results.table_by_cell(POINTS)
    seeds = model.results.select(**model.where)["cell"]
    cell = next((key for key in seeds if key in points), None)
    if cell is None:
        return
    for row in points[cell].sort_values(["delta_alpha", "id"]).itertuples():
        labels = {**model.labels, "delta_alpha": row.delta_alpha, "document": row.id}
        value = float(row.delta_js)  # type: ignore[arg-type]
        yield entry(labels, "ΔJS", SeedMean.of([value], [str(cell)], 1))


def boxes(results: PaperResults, table: str, architectures: Sequence[Architecture]) -> Rows:
    """Box plots by ranking of the fraction of items, or the mass, that goes before a flip."""
    for model in lines(results, architectures):
        known = results.rows(table, "median", **model.where)
        for ranking in dict.fromkeys([*RANKINGS, *known]):
            labels = {**model.labels, "ranking": _RANKINGS.get(ranking, ranking)}
            for measure, column in _BOX.items():
                yield entry(labels, measure, model.find(table, ranking, column))
            theirs = _caption(model, ranking) if table == FRACTION else float("nan")
            number = model.find(table, ranking, "above_half")
            yield entry(labels, "above ½", number, theirs)


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
EXHIBITS = ExhibitList()
EXHIBITS.add(
    "figure3",
    "ΔJS of the top and a random item against the difference of their weights: HANrnn",
    _POINTS_NOTE,
)(partial(delta_js, architectures=HANRNN))
EXHIBITS.add(
    "figure4",
    "Documents with a negative ΔJS, by the difference of weights: HANrnn",
    _NEGATIVE_NOTE,
)(partial(negatives, architectures=HANRNN))
EXHIBITS.add(
    "figure5",
    "Fraction of items erased before the decision flips: models with an encoder",
    _BOX_NOTE,
)(partial(boxes, table=FRACTION, architectures=WITH_ENCODER))
EXHIBITS.add(
    "figure6",
    "Fraction of items erased before the decision flips: models without an encoder",
    f"{_BOX_NOTE} Published: shares in the caption, for FLANnoenc on Amazon.",
)(partial(boxes, table=FRACTION, architectures=WITHOUT_ENCODER))
EXHIBITS.add(
    "figure7",
    "ΔJS of the top and a random item against the difference of their weights: the others",
    _POINTS_NOTE,
)(partial(delta_js, architectures=OTHERS))
EXHIBITS.add(
    "figure8",
    "Documents with a negative ΔJS, by the difference of weights: the others",
    _NEGATIVE_NOTE,
)(partial(negatives, architectures=OTHERS))
EXHIBITS.add(
    "figure9",
    "Decisions that flip with the top item by attention, a random one, both or neither, in percent",
    RULES_NOTE,
)(partial(contingency, top="attention", architectures=ARCHITECTURES))
EXHIBITS.add(
    "figure10",
    "Fraction of items erased before the decision flips: all models",
    _BOX_NOTE,
)(partial(boxes, table=FRACTION, architectures=ARCHITECTURES))
EXHIBITS.add(
    "figure11",
    "Attention erased before the decision flips: all models",
    _BOX_NOTE,
)(partial(boxes, table=MASS, architectures=ARCHITECTURES))
EXHIBITS.add(
    "figure12",
    "Decisions that flip with the top item by gradient, a random one, both or neither, in percent",
    RULES_NOTE,
)(partial(contingency, top="gradient", architectures=ARCHITECTURES))
EXHIBITS.add(
    "figure13",
    "Decisions that flip with the top item by attention times gradient, a random one, both or "
    "neither, in percent",
    RULES_NOTE,
)(partial(contingency, top="product", architectures=ARCHITECTURES))
