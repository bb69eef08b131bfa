"""What the sufficiency exam's numbers are."""

from __future__ import annotations

import math
from collections.abc import Callable

from verax.exams.cells import ACCURACY, DOCUMENTS
from verax.exams.measures import (
    AT_LEAST_ZERO,
    COUNT,
    HIGHER,
    LOWER,
    PERCENT,
    UNIT_INTERVAL,
    Measure,
    Table,
    counts,
    titles,
)

NAME = "sufficiency"
RANDOM, BEST = "random", "best"
"""Rows: the mean over random orders, and the best sets of words that were found."""
COMPREHENSIVENESS, SUFFICIENCY, CHANGED, KEPT = "comprehensiveness", NAME, "changed", "kept"
"""Columns, and measures of the tidy tables."""
NORMALISED = {
    COMPREHENSIVENESS: f"normalised_{COMPREHENSIVENESS}",
    SUFFICIENCY: f"normalised_{SUFFICIENCY}",
}
GAIN = {name: f"{name}_gain" for name in NORMALISED}
P = {name: f"{name}_p" for name in NORMALISED}
AGAINST_RANDOM = {COMPREHENSIVENESS: "more_than_random", SUFFICIENCY: "less_than_random"}
ERASER = (1.0, 5.0, 10.0, 20.0, 50.0)
"""The percentages of DeYoung et al. 2020."""
LEAST_SPAN = 0.05
"""What taking out all words must do to the probability of a decision, at least, for numbers to be
divided by it."""
_DIFFERENCE = (-1.0, 1.0)
_AT = "at="
_TITLES = titles({RANDOM: "random (mean of all orders)", BEST: "best found"})


def written(percentage: float) -> str:
    """A percentage as tables have it.

    >>> written(5.0), written(0.5)
    ('5', '0.5')
    """
    return repr(float(percentage)).removesuffix(".0")


def at_column(percentage: str) -> str:
    """The column of a percentage.

    >>> at_column("5")
    'at=5'
    """
    return f"{_AT}{percentage}"


def percentage_of(column: str) -> str | None:
    """The percentage of a column that `at_column` made; None of any other.

    >>> percentage_of("at=0.5"), percentage_of("2.at=0.5")
    ('0.5', None)
    """
    return column.removeprefix(_AT) if column.startswith(_AT) else None


def _difference_at(column: str) -> Measure | None:
    percentage = percentage_of(column)
    title = f"{percentage}%"
    return None if percentage is None else Measure(column, title, bounds=_DIFFERENCE)


def _share_at(column: str) -> Measure | None:
    percentage = percentage_of(column)
    return None if percentage is None else Measure(column, f"{percentage}%", PERCENT)


def _by_percentage(name: str, title: str, variants: Callable[[str], Measure | None]) -> Table:
    """A table with a column for each percentage; those of ERASER are declared."""
    declared = [variants(at_column(written(percentage))) for percentage in ERASER]
    measures = tuple(measure for measure in declared if measure is not None)
    return Table(f"{NAME}.{name}_at", title, measures, _TITLES, variants=variants)


RANKED = Table(
    NAME,
    "means over percentages of words, those first that … ranks first",
    (
        Measure(COMPREHENSIVENESS, COMPREHENSIVENESS, better=HIGHER, bounds=_DIFFERENCE),
        Measure("more_than_random", "more than random order", better=HIGHER, bounds=(-2.0, 2.0)),
        Measure("comprehensiveness_p", "p of comprehensiveness, by Holm", bounds=UNIT_INTERVAL),
        Measure(
            NORMALISED[COMPREHENSIVENESS],
            "normalised comprehensiveness",
            better=HIGHER,
            bounds=UNIT_INTERVAL,
        ),
        Measure(
            "comprehensiveness_gain",
            "of the way to the best, taken out",
            PERCENT,
            HIGHER,
            bounds=(-math.inf, 100.0),
        ),
        Measure(CHANGED, "decisions changed", PERCENT, HIGHER),
        Measure(SUFFICIENCY, SUFFICIENCY, better=LOWER, bounds=_DIFFERENCE),
        Measure("less_than_random", "less than random order", better=HIGHER, bounds=(-2.0, 2.0)),
        Measure("sufficiency_p", "p of sufficiency, by Holm", bounds=UNIT_INTERVAL),
        Measure(
            NORMALISED[SUFFICIENCY],
            "normalised sufficiency",
            better=HIGHER,
            bounds=UNIT_INTERVAL,
        ),
        Measure(
            "sufficiency_gain",
            "of the way to the best, left alone",
            PERCENT,
            HIGHER,
            bounds=(-math.inf, 100.0),
        ),
        Measure(KEPT, "decisions kept", PERCENT, HIGHER),
        Measure("exact", "known to be the best there is", PERCENT),
        DOCUMENTS,
    ),
    _TITLES,
)
AT = {
    COMPREHENSIVENESS: _by_percentage(
        COMPREHENSIVENESS, "probability lost without the first … of the words", _difference_at
    ),
    SUFFICIENCY: _by_percentage(
        SUFFICIENCY, "probability lost with the first … of the words alone", _difference_at
    ),
    CHANGED: _by_percentage(
        CHANGED, "decisions that change without the first … of the words", _share_at
    ),
    KEPT: _by_percentage(KEPT, "decisions kept with the first … of the words alone", _share_at),
}
"""Measure → its table, a column for each percentage."""
DOCUMENT_COUNTS = counts(
    NAME,
    DOCUMENTS,
    ACCURACY,
    Measure("no_words", "set aside: no words", COUNT),
    Measure("one_word", "set aside: one word", COUNT),
    Measure("examined", "examined", COUNT, whole=True),
    Measure("no_span", "not normalised: decided as surely without words", COUNT),
    Measure("not_searched", "too long for the greedy search", COUNT),
    Measure("words", "words of a document", bounds=AT_LEAST_ZERO),
    Measure("probability", "probability of the decision", bounds=UNIT_INTERVAL),
    Measure("empty", "the same without words", bounds=UNIT_INTERVAL),
    Measure("asked", "sets of words asked about", bounds=AT_LEAST_ZERO),
)
TABLES = (RANKED, DOCUMENT_COUNTS, *AT.values())
