"""Which exam a measure is of, its unit, and which way is better between two groups of models."""

from __future__ import annotations

from dataclasses import dataclass

from verax.exams.document_values import DECISIONS as _DECISIONS
from verax.exams.exam import Pair
from verax.exams.measures import NEITHER, NUMBER
from verax.exams.registry import EXAMS, find_place

DECISIONS = _DECISIONS.id
OTHER_ITEMS = "of words in one and sentences in the other"


@dataclass(frozen=True)
class Direction:
    """A measure's exam, its unit, which way is better, and why neither, if so.

    shown  whether a comparison shows it; false where another measure says the same
    """

    exam: str
    unit: str = NUMBER
    better: str = NEITHER
    note: str = ""
    shown: bool = True


def direction_of(measure: str, pair: Pair | None = None) -> Direction:
    """Which way the measure with this id is better, between two groups of models.

    Better means that attention is the more truthful, or decisions the more accurate. Where neither
    can be said, as of an entropy, no way is better.

    >>> direction_of("replacement.uniform.survival").better
    'lower'
    >>> direction_of("agreement.items:attention:gradient-detached.tau").note
    'attention itself, by arithmetic'
    """
    place, pair = find_place(measure), pair or Pair()
    if place is None:  # of an exam that is not installed here
        return Direction(measure.partition(".")[0])
    exam = EXAMS.get(place.exam)
    if exam is None:
        return Direction(place.exam, place.measure.unit, place.measure.better)
    better, note = exam.better(place, pair)
    if exam.of_items and len(pair.attended) > 1:
        better, note = NEITHER, note or OTHER_ITEMS
    return Direction(place.exam, place.measure.unit, better, note, exam.is_compared(place, note))


def counted_as(measure: str) -> str:
    """The kind that a measure is counted under, as its exam says."""
    place = find_place(measure)
    exam = None if place is None else EXAMS.get(place.exam)
    return measure if place is None or exam is None else exam.counted_as(place)
