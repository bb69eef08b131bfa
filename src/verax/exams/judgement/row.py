"""A row of a judgement: what one exam says of one subject, by which limits."""

from __future__ import annotations

from dataclasses import dataclass

from verax.exams.judgement.number import Number

FOR, AGAINST, OPEN, NOT_APPLICABLE = "for", "against", "open", "not applicable"
"""What an exam says of a subject. Not applicable: it asks something else, or cannot be asked."""
WITHHELD = "withheld"
"""Replaces the verdict of every exam where no verdict can be given on the model at all."""
ATTENTION = "attention"
"""The subject of a model that has one attention."""


@dataclass(frozen=True)
class Judged:
    """A row of a judgement: the verdict of one exam.

    exam      its name
    measure   id of the number that is judged
    subject   what is judged: the attention, or a score by its name
    verdict   for, against, open, withheld or not applicable
    number    the number, with its interval and n
    label     what the number is, in a line
    compared  what to hold it against
    sentence  both as a sentence
    of        of how many documents
    limits    by which limits the number is judged, in words; empty where it is not
    reason    why it is left open, or not judged, whatever the number is; empty where the number is
              the reason
    decides   whether what is said of the subject in the headline is this exam's, where scores are
              judged that only it holds against chance
    below_random  whether the subject is surely worse than random order, which contradicts it under
              all limits and calibrations
    """

    exam: str
    measure: str
    verdict: str
    number: Number
    label: str
    compared: str
    sentence: str
    of: str = ""
    limits: str = ""
    subject: str = ATTENTION
    reason: str = ""
    decides: bool = False
    below_random: bool = False

    @property
    def counts(self) -> bool:
        """Whether the exam judges the subject."""
        return self.verdict != NOT_APPLICABLE


def lean(number: Number, *, above: float, below: float, high_is_good: bool = True) -> str:
    """The verdict on a number: for, against, or open.

    Args:
        number: with its interval.
        above: the limit that all of the interval must be above.
        below: the limit that all of the interval must be below.
        high_is_good: whether a high number speaks for the subject.

    An interval that touches a limit, and a number without an interval, leave it open.
    """
    if number.is_above(above):
        return FOR if high_is_good else AGAINST
    if number.is_below(below):
        return AGAINST if high_is_good else FOR
    return OPEN
