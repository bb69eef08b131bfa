"""Which way erasure's numbers are better, between two groups of models."""

from __future__ import annotations

from verax.exams.erasure.measures import DELTA_JS, EXCESS, FRACTION
from verax.exams.exam import Pair, no_direction
from verax.exams.judgement.row import ATTENTION
from verax.exams.measures import Classes, Place

FEWER = "items without weight need not go, by arithmetic: see optimal"
ALL = "where all weight must go any order is, by arithmetic: see where part is enough"


def direction(place: Place, pair: Pair) -> tuple[str, str]:
    """Attention's own numbers are judged; what must go is at most the support, so not all are."""
    if place.row != ATTENTION:
        return no_direction("")
    if place.table is EXCESS and place.column == "optimal":
        return no_direction(ALL)
    if place.table in (FRACTION, EXCESS) and place.column == "mean" and not pair.dense:
        return no_direction(FEWER)
    return place.measure.better, ""


_MEANS = {
    FRACTION.id: "share of items erased",
    EXCESS.id: "items beyond the smallest set",
    DELTA_JS.id: "ΔJS",
}
"""Table → what its mean is called among the exam's other numbers."""


def label(place: Place, classes: Classes = ()) -> str:
    """What is measured, then the ranking."""
    row = place.table.title_of_row(place.row, classes)
    if place.table.counts:
        return row
    what = place.table.title_of_column(place.column)
    if place.column == "mean":
        what = _MEANS.get(place.table.id, what)
    return f"{what}, {row}"
