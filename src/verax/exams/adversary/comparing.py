"""Which way the adversary exam's numbers are better, between two groups of models."""

from __future__ import annotations

from verax.exams.adversary.measures import ADVERSARY, ALL, GROUPS
from verax.exams.exam import Pair, no_direction
from verax.exams.measures import Classes, Place, measure_id

PEAKED = "of how peaked attention is, by arithmetic: see held back"


def direction(place: Place, pair: Pair) -> tuple[str, str]:
    """How far the farthest attention is says how peaked the model's own is, and is not judged."""
    if place.table is ADVERSARY and place.column == "jsd":
        return no_direction(PEAKED)
    return place.measure.better, ""


def counted_as(place: Place) -> str:
    """Several ε ask one question, and count once."""
    row = ALL if place.table is ADVERSARY else place.row
    return measure_id(place.table.id, row, place.column)


def label(place: Place, classes: Classes = ()) -> str:
    """The ε and what is measured; of all documents, unless it says otherwise."""
    row = place.table.title_of_row(place.row, classes)
    column = place.table.title_of_column(place.column)
    if not column or (place.table is GROUPS and place.row == ALL):
        return column or row
    return f"{row}: {column}"
