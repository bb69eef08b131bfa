"""How far a number of a summary can go: an interval over seeds knows nothing of that."""

from __future__ import annotations

from verax.exams.measures import ANY
from verax.exams.registry import find_place


def bounds(measure: str) -> tuple[float, float]:
    """The least and the most that the number with this id can be.

    >>> bounds("agreement.inputs:attention:gradient.tau"), bounds("replacement.uniform.accuracy")
    ((-1.0, 1.0), (0.0, 100.0))
    """
    place = find_place(measure)
    return ANY if place is None else place.measure.range
