"""What the deletion exam's numbers are."""

from __future__ import annotations

import math
from collections.abc import Sequence

from verax.exams.cells import ACCURACY, DOCUMENTS
from verax.exams.measures import (
    AT_LEAST_ZERO,
    COUNT,
    HIGHER,
    LOWER,
    PERCENT,
    POINTS,
    UNIT_INTERVAL,
    Measure,
    Table,
    counts,
    titles,
)

NAME = "deletion"
RANDOM, SMALLEST = "random", "smallest"
"""Rows: the mean over random orders, and the smallest set that changes a decision."""
SUFFICIENT, ALL = "sufficient", "all"
"""Rows: the smallest set that alone keeps a decision; documents of any length."""
LENGTHS = ((2, 10), (11, 20), (21, 40), (41, 80), (81, None))
"""Words of a document, from and to: for each the share of documents whose smallest set is exact."""


def length_row(least: int, most: int | None) -> str:
    """The row of documents of so many words.

    >>> length_row(2, 10), length_row(81, None)
    ('words=2-10', 'words=81-')
    """
    return f"words={least}-{'' if most is None else most}"


def _length_title(row: str, classes: Sequence[str]) -> str:
    if row == ALL:
        return "all examined"
    least, _, most = row.partition("=")[2].partition("-")
    return f"{least} to {most} words" if most else f"{least} words or more"


DELETION = Table(
    NAME,
    "words taken out, most important first by …, when the decision first changes",
    (
        Measure("share", "share of the words", better=LOWER, bounds=UNIT_INTERVAL),
        Measure("words", "words", bounds=AT_LEAST_ZERO),
        Measure("fewer_than_random", "less than random order", POINTS, HIGHER),
        Measure("p", "p, by Holm", bounds=UNIT_INTERVAL),
        Measure("gain", "of the way to the smallest", PERCENT, HIGHER, bounds=(-math.inf, 100.0)),
        Measure(
            "excess", "words beyond the smallest, at least", better=LOWER, bounds=AT_LEAST_ZERO
        ),
        Measure("excess_most", "words beyond the smallest, at most", bounds=AT_LEAST_ZERO),
        Measure("as_small", "as small as the smallest found", PERCENT),
        Measure("optimal", "proven to be the smallest", PERCENT),
        DOCUMENTS,
        Measure("never", "never changes it", COUNT),
        Measure("everything", "only when all words are gone", COUNT),
    ),
    titles({RANDOM: "random (mean of all orders)"}),
)
_BOUNDS = (
    Measure("lower", "words, at least", bounds=AT_LEAST_ZERO),
    Measure("upper", "words, at most", bounds=AT_LEAST_ZERO),
    Measure("gap", "between the two", bounds=AT_LEAST_ZERO),
    Measure("exact", "exact", PERCENT),
    Measure("upper_share", "share of the words, at most", bounds=UNIT_INTERVAL),
    Measure("upper_median", "median", bounds=AT_LEAST_ZERO),
    Measure("one_word", "one word is enough", PERCENT),
)
"""Numbers of a smallest set of words."""
BEST = Table(
    f"{NAME}.smallest",
    "the smallest set of words that changes the decision: bounds, exact where they meet",
    _BOUNDS,
    titles({SMALLEST: "smallest set"}),
)
KEPT = Table(
    f"{NAME}.sufficient",
    "the smallest set of words that alone keeps the decision: bounds, exact where they meet",
    (*_BOUNDS, DOCUMENTS),
    titles({SUFFICIENT: "sufficient set"}),
)
EXACT = Table(
    f"{NAME}.exact",
    "documents whose bounds meet, or of which it is proven that nothing changes them, by length",
    (
        Measure("exact", "set that changes it", PERCENT),
        Measure("sufficient_exact", "set that keeps it", PERCENT),
        DOCUMENTS,
    ),
    _length_title,
)
DOCUMENT_COUNTS = counts(
    NAME,
    DOCUMENTS,
    ACCURACY,
    Measure("one_word", "set aside: one word", COUNT),
    Measure("examined", "examined", COUNT, whole=True),
    Measure("never", "nothing that was tried changes it", COUNT),
    Measure("never_proven", "of these proven: no deletion changes it", COUNT, whole=True),
    Measure("everything", "changes only when all words are gone", COUNT),
    Measure("everything_proven", "of these proven", COUNT, whole=True),
    Measure("nothing", "stays as it is with all words gone", COUNT, whole=True),
    Measure("part", "changes when part of the words is gone", COUNT, whole=True),
    Measure("coarse", "too long for a look at every word", COUNT),
    Measure("words", "words of a document", bounds=AT_LEAST_ZERO),
    Measure("resolution", "words between two looks", bounds=AT_LEAST_ZERO),
    Measure("passes", "texts read for a document", bounds=AT_LEAST_ZERO),
)
TABLES = (DELETION, DOCUMENT_COUNTS, BEST, KEPT, EXACT)
