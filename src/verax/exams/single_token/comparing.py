"""What single tokens' numbers are called beside each other."""

from __future__ import annotations

from verax.exams.measures import Classes, Place
from verax.exams.single_token.measures import CORRECT


def label(place: Place, classes: Classes = ()) -> str:
    """What is measured; of correct decisions, unless it says otherwise."""
    what = place.table.title_of_column(place.column)
    if place.row == CORRECT:
        return what
    return f"{place.table.title_of_row(place.row, classes)}: {what}"
