"""What dispersion's numbers are called beside each other."""

from __future__ import annotations

from verax.exams.dispersion.measures import ENTROPY
from verax.exams.measures import Classes, Place


def label(place: Place, classes: Classes = ()) -> str:
    """The entropy of what, or what is counted."""
    row = place.table.title_of_row(place.row, classes)
    return f"entropy: {row}" if place.table is ENTROPY else row
