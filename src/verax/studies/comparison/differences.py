"""Two groups of models, one measure: the difference, its interval, and which way is better."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from verax.exams.document_values import DECISIONS as _DECISIONS
from verax.exams.exam import Pair
from verax.exams.measures import HIGHER, NEITHER, NUMBER
from verax.exams.registry import EXAMS, find_place
from verax.statistics import paired, welch

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


LEVEL = 0.05
SEEDS, DOCUMENTS, NOTHING = "seeds", "documents", ""
BETTER, WORSE, UNCLEAR = "better", "worse", "unclear"
NEEDS_SEEDS = "an interval needs two seeds or more of each"


@dataclass(frozen=True)
class Difference:
    """A group's measure against the reference's.

    reference_value, value  each group's mean over its models of a model's own number
    difference              value less reference; over documents, of those that both have
    low, high, p            95% interval and two-sided p, NaN where there are none
    over                    what both are over: seeds, documents, or nothing
    n_reference, n          seeds, or documents, that have a value on either side
    pairs                   documents that have one on both
    """

    reference_value: float
    value: float
    difference: float
    low: float
    high: float
    p: float
    over: str
    n_reference: int
    n: int
    pairs: int = 0

    @property
    def why_no_interval(self) -> str:
        """Why no interval exists, or an empty string."""
        if not math.isnan(self.low):
            return ""
        if self.over == NOTHING:
            return NEEDS_SEEDS
        if self.over == SEEDS and min(self.n_reference, self.n) > 1:
            return "both the same with every seed, which tells nothing of chance"
        return f"fewer than two {self.over} have a value on both sides"


def over_seeds(reference: pd.Series, group: pd.Series) -> Difference:
    """The difference between numbers of models that share nothing: Welch's interval."""
    test = welch(group, reference)
    means, ends = (_mean(reference), _mean(group)), (test.low, test.high, test.p)
    return Difference(*means, test.difference, *ends, SEEDS, test.n_b, test.n_a)


def over_documents(reference: pd.DataFrame, group: pd.DataFrame) -> Difference:
    """The difference document by document, each its mean over a group's models.

    Student's t for p as for the interval, so that the two agree, and because values of a number
    that is no mean are made for that.

    Args:
        reference: (documents, models).
        group: (documents, models).
    """
    left, right = reference.mean(axis=1).align(group.mean(axis=1))
    test = paired(right, left, "t")
    means, ends = (_mean(reference.mean()), _mean(group.mean())), (test.low, test.high, test.p)
    n = (int(left.notna().sum()), int(right.notna().sum()), test.n)
    return Difference(*means, test.difference, *ends, DOCUMENTS, *n)


def over_nothing(reference: pd.Series, group: pd.Series) -> Difference:
    """The difference between numbers that have neither documents nor enough seeds: no interval."""
    a, b = _mean(reference), _mean(group)
    n = (int(reference.notna().sum()), int(group.notna().sum()))
    return Difference(a, b, b - a, math.nan, math.nan, math.nan, NOTHING, *n)


def judge(difference: float, holm: float, better: str) -> str:
    """better, worse or unclear; empty where no way is better.

    Args:
        difference: of the group from the reference.
        holm: p, corrected for the other measures that are judged between the same two groups.
        better: which way is better, if one is.
    """
    if better == NEITHER:
        return ""
    if math.isnan(holm) or holm >= LEVEL or difference == 0:
        return UNCLEAR
    return BETTER if (difference > 0) == (better == HIGHER) else WORSE


def _mean(values: pd.Series) -> float:
    known = values.dropna().to_numpy(dtype=np.float64)
    return float(known.mean()) if len(known) else math.nan
