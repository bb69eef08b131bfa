"""Which way the adversary exam's numbers are better, between two groups of models."""

from __future__ import annotations

from verax.exams.adversary.measures import ADVERSARY
from verax.exams.exam import Pair, no_direction
from verax.exams.measures import Place

PEAKED = "of how peaked attention is, by arithmetic: see held back"


def direction(place: Place, pair: Pair) -> tuple[str, str]:
    """How far the farthest attention is says how peaked the model's own is, and is not judged."""
    if place.table is ADVERSARY and place.column == "jsd":
        return no_direction(PEAKED)
    return place.measure.better, ""
