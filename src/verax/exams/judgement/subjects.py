"""What a judgement is of: one attention, or several scores that are derived from it."""

from __future__ import annotations

from collections.abc import Sequence

from verax.exams.judgement.row import AGAINST, ATTENTION, FOR, OPEN, WITHHELD, Judged
from verax.importance.registry import split_place
from verax.importance.transformers import DERIVED

MIXED = "mixed"
"""The verdict on a subject that one exam supports and another contradicts."""


def is_derived(name: str) -> bool:
    """Whether an importance is derived from attention, of all layers or at one place.

    >>> [is_derived(name) for name in ("rollout", "attention@3.2", "gradient")]
    [True, True, False]
    """
    return split_place(name)[0] in DERIVED


def subjects_of(rows: Sequence[Judged]) -> list[str]:
    """The subjects that were judged: scores derived from attention first, in their order."""
    found = list(dict.fromkeys(row.subject for row in rows if row.counts))
    return [*(name for name in DERIVED if name in found), *(n for n in found if n not in DERIVED)]


def are_several(rows: Sequence[Judged]) -> bool:
    """Whether scores are judged, and not the one attention of a pooled model."""
    return any(row.subject != ATTENTION for row in rows if row.counts)


def verdict_on(subject: str, rows: Sequence[Judged]) -> str:
    """Return the verdict on a subject: for, against, mixed, open or withheld.

    It is mixed where one exam supports the subject and another contradicts it. Where an exam
    decides, such as `deletion`, a subject that this exam does not support is not supported.
    """
    own = [row for row in rows if row.subject == subject and row.counts]
    votes = {row.verdict for row in own}
    if {FOR, AGAINST} <= votes:
        return MIXED
    if FOR in votes and any(row.decides and row.verdict != FOR for row in own):
        return OPEN
    return next((vote for vote in (FOR, AGAINST, WITHHELD) if vote in votes), OPEN)


def exams_with(verdict: str, subject: str, rows: Sequence[Judged]) -> list[str]:
    """Return the names of the exams that give a subject a verdict."""
    own = (row for row in rows if row.subject == subject and row.verdict == verdict)
    return list(dict.fromkeys(row.exam for row in own))
