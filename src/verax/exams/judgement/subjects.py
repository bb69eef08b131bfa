"""What a judgement is of: one attention, or several scores that are derived from it."""

from __future__ import annotations

from collections.abc import Sequence

from verax.exams.judgement.row import AGAINST, ATTENTION, FOR, OPEN, Judged
from verax.importance.registry import split_place
from verax.importance.transformers import DERIVED

MIXED = "mixed"
"""What exams say of a subject where one speaks for it and another against."""


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
    """What is said of a subject: for, against, mixed or open.

    It is what the exam says that decides it, or else what all exams together say.
    """
    own = [row for row in rows if row.subject == subject and row.counts]
    votes = {row.verdict for row in [row for row in own if row.decides] or own}
    if {FOR, AGAINST} <= votes:
        return MIXED
    return next((vote for vote in (FOR, AGAINST) if vote in votes), OPEN)


def doubted(subject: str, rows: Sequence[Judged]) -> bool:
    """Whether an exam other than the one that decides speaks against a subject."""
    return any(
        row.subject == subject and row.verdict == AGAINST and not row.decides for row in rows
    )
