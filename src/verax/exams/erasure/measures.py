"""What the erasure exam's numbers are."""

from __future__ import annotations

import math
from dataclasses import replace

from verax.exams.cells import ACCURACY, DOCUMENTS, MEDIAN
from verax.exams.measures import (
    AT_LEAST_ZERO,
    COUNT,
    HIGHER,
    JSD,
    LOWER,
    PERCENT,
    POINTS,
    UNIT_INTERVAL,
    Classes,
    Measure,
    Table,
    counts,
)

NAME = "erasure"
OPTIMUM, RANDOM, ALL_DRAWS = "optimum", "random", "random@all"
"""Rows: the smallest set that flips, one random order, and the mean over all random orders."""
PAPER, AUTHORS = "paper", "authors"
"""Rules of drawing the random item: the paper's, which an id leaves out, and the code's."""

DOCUMENT_COUNTS = counts(
    NAME,
    ACCURACY,
    DOCUMENTS,
    Measure("one_item", "set aside: one item", COUNT),
    Measure("examined", "examined", COUNT, whole=True),
    Measure("no_ranking_flips", "no ranking flips it", COUNT),
    Measure("no_erasure_flips", "no erasure is known to flip it", COUNT),
    Measure("all_weight_needed", "flips only when all weight is erased", COUNT),
    Measure("tied", "a tie, before or after the minimal erasure", COUNT),
    Measure("decision_differs", "decision differs in double precision", COUNT),
    Measure("not_certified", "minimal set searched for, not certified", COUNT),
)
_SIGNED = (-JSD[1], JSD[1])


def _five(bounds: tuple[float, float], *names: str) -> tuple[Measure, ...]:
    return tuple(Measure(name, name, bounds=bounds) for name in names)


def variant(name: str, rule: str) -> str:
    """The row of an importance's top item against a random one drawn by a rule.

    >>> variant("attention", "authors"), variant("attention", "paper")
    ('attention@authors', 'attention')
    """
    return f"{name}@{AUTHORS}" if rule == AUTHORS else name


def rule_of(row: str) -> str:
    """The rule that the random item of a row is drawn by, of rows that `variant` made.

    >>> rule_of("attention@authors"), rule_of("attention")
    ('authors', 'paper')
    """
    return row.partition("@")[2] or PAPER


def pair(one: str, other: str) -> str:
    """The row of two rankings held against each other."""
    return f"{one}:{other}"


def tenth(low: float, high: float) -> str:
    """The row of a tenth of Δα."""
    return f"{low:.1f}-{high:.1f}"


def tenth_of(row: str) -> tuple[float, float]:
    """Where a tenth of Δα begins and ends, of rows that `tenth` made.

    >>> tenth_of("0.2-0.3")
    (0.2, 0.3)
    """
    low, high = row.split("-")
    return float(low), float(high)


def _ranking(row: str, classes: Classes) -> str:
    if row == ALL_DRAWS:
        return "random (all draws)"
    name, _, rule = row.partition("@")
    return f"{name} (authors' rule)" if rule else name


def _pair(row: str, classes: Classes) -> str:
    return row.replace(":", " : ")


def _tenth(row: str, classes: Classes) -> str:
    return f"Δα {row.replace('-', ' to ')}"


CONTINGENCY = Table(
    f"{NAME}.contingency",
    "which single erasure flips the decision: the top item by …, a random other",
    (
        Measure("both", "both", PERCENT),
        Measure("top_only", "only top", PERCENT),
        Measure("random_only", "only random", PERCENT),
        Measure("neither", "neither", PERCENT),
    ),
    _ranking,
)
DELTA_JS = Table(
    f"{NAME}.delta_js",
    "ΔJS: how much further the top item's erasure moves the output than a random one's",
    (
        Measure("mean", "mean", better=HIGHER, bounds=_SIGNED),
        *_five(_SIGNED, "min", "q1", "median", "q3", "max"),
        Measure("negative_share", "negative", PERCENT),
        Measure("mean_delta_alpha", "mean Δα", bounds=(-1.0, 1.0)),
        Measure("negative_near_zero_share", "negative, near 0", PERCENT),
    ),
    _ranking,
)
NEGATIVE = Table(
    f"{NAME}.negative_delta_js",
    "negative ΔJS by Δα, top item by attention",
    (
        DOCUMENTS,
        Measure("negative", "negative", COUNT),
        Measure("negative_share", "share", PERCENT),
    ),
    _tenth,
)
BY_ALPHA = Table(
    f"{NAME}.delta_js_by_alpha",
    "ΔJS by Δα, top item by attention; near 0: |ΔJS| below 0.01",
    (
        DOCUMENTS,
        *_five(_SIGNED, "median", "q1", "q3"),
        Measure("near_zero_share", "near 0", PERCENT),
    ),
    _tenth,
)


def _at_first_flip(name: str, title: str) -> Table:
    return Table(
        f"{NAME}.{name}",
        title,
        (
            *_five(UNIT_INTERVAL, "min", "q1", "median", "q3", "max"),
            Measure("mean", "mean", better=LOWER, bounds=UNIT_INTERVAL),
            Measure("above_half", "above ½", PERCENT),
            Measure("flips", "flips", COUNT),
            Measure("never_flips", "never flips", COUNT),
            Measure("common_mean", "common mean", bounds=UNIT_INTERVAL),
            Measure("whisker_low", "whisker low", bounds=UNIT_INTERVAL),
            Measure("whisker_high", "whisker high", bounds=UNIT_INTERVAL),
        ),
        _ranking,
    )


FRACTION = _at_first_flip(
    "fraction", "share of the items erased, in order of …, when the decision first flips"
)
MASS = _at_first_flip("mass", "attention erased by then")
EXCESS = Table(
    f"{NAME}.excess",
    "items erased beyond the smallest set that flips the decision",
    (
        Measure("mean", "mean", better=LOWER, bounds=AT_LEAST_ZERO),
        Measure("q1", "q1", bounds=AT_LEAST_ZERO),
        replace(MEDIAN, bounds=AT_LEAST_ZERO),
        Measure("q3", "q3", bounds=AT_LEAST_ZERO),
        Measure("max", "max", bounds=AT_LEAST_ZERO),
        Measure("mean_ratio", "mean ratio", bounds=AT_LEAST_ZERO),
        Measure("median_ratio", "median ratio", bounds=AT_LEAST_ZERO),
        Measure("optimal", "optimal", PERCENT),
        Measure("optimal_in_part", "optimal where part is enough", PERCENT, HIGHER),
        Measure("beyond_random", "more than random", POINTS, HIGHER),
        Measure("gain", "of the way to the smallest", PERCENT, HIGHER, bounds=(-math.inf, 100.0)),
        Measure("never_though_possible", "never, though possible", COUNT, excluded=True),
    ),
    _ranking,
)
PAIRS = Table(
    f"{NAME}.pairs",
    "which of two rankings flips the decision with fewer items",
    (
        Measure("fewer", "fewer", COUNT),
        Measure("same", "same", COUNT),
        Measure("more", "more", COUNT),
        Measure("fewer_of_flips", "fewer, of flips", PERCENT),
        Measure("fewer_of_all", "fewer, of all", PERCENT),
        Measure("more_of_flips", "more, of flips", PERCENT),
        Measure("more_of_all", "more, of all", PERCENT),
    ),
    _pair,
)
TABLES = (
    *(EXCESS, DOCUMENT_COUNTS, CONTINGENCY, DELTA_JS, NEGATIVE, BY_ALPHA, FRACTION, MASS, PAIRS),
)
