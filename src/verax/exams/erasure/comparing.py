"""Which way erasure's numbers are better, between two groups of models."""

from __future__ import annotations

from verax.exams.erasure.measures import EXCESS, FRACTION
from verax.exams.exam import Pair, no_direction
from verax.exams.judgement.row import ATTENTION
from verax.exams.measures import Place

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
