"""What the deletion exam's numbers are."""

from __future__ import annotations

import math

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
"""Rows: the mean over random orders, and the smallest set that was found."""

DELETION = Table(
    NAME,
    "words taken out, most important first by …, when the decision first changes",
    (
        Measure("share", "share of the words", better=LOWER, bounds=UNIT_INTERVAL),
        Measure("words", "words", bounds=AT_LEAST_ZERO),
        Measure("fewer_than_random", "less than random order", POINTS, HIGHER),
        Measure("p", "p, by Holm", bounds=UNIT_INTERVAL),
        Measure("gain", "of the way to the smallest", PERCENT, HIGHER, bounds=(-math.inf, 100.0)),
        Measure("excess", "words beyond the smallest", better=LOWER, bounds=AT_LEAST_ZERO),
        Measure("as_small", "as small as the smallest", PERCENT),
        DOCUMENTS,
        Measure("never", "never changes it", COUNT),
        Measure("everything", "only when all words are gone", COUNT),
    ),
    titles({RANDOM: "random (mean of all orders)"}),
)
BEST = Table(
    f"{NAME}.smallest",
    "the smallest set of words found that changes the decision: no word of it can return",
    (
        Measure("upper", "words, at most", bounds=AT_LEAST_ZERO),
        Measure("upper_share", "share of the words, at most", bounds=UNIT_INTERVAL),
        Measure("upper_median", "median", bounds=AT_LEAST_ZERO),
        Measure("one_word", "one word is enough", PERCENT),
    ),
    titles({SMALLEST: "smallest found"}),
)
DOCUMENT_COUNTS = counts(
    NAME,
    DOCUMENTS,
    ACCURACY,
    Measure("one_word", "set aside: one word", COUNT),
    Measure("examined", "examined", COUNT, whole=True),
    Measure("never", "nothing that was tried changes it", COUNT),
    Measure("everything", "changes only when all words are gone", COUNT),
    Measure("part", "changes when part of the words is gone", COUNT, whole=True),
    Measure("coarse", "too long for a look at every word", COUNT),
    Measure("words", "words of a document", bounds=AT_LEAST_ZERO),
    Measure("resolution", "words between two looks", bounds=AT_LEAST_ZERO),
)
TABLES = (DELETION, DOCUMENT_COUNTS, BEST)
