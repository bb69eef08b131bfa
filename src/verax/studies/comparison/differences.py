"""Two groups of models, one measure: the difference, its interval, and what may be said of it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from verax.exams.measures import HIGHER, NEITHER
from verax.statistics import paired
from verax.statistics.independent import independent

LEVEL = 0.05
SEEDS, DOCUMENTS, NOTHING = "seeds", "documents", ""
BETTER, WORSE, UNCLEAR = "better", "worse", "unclear"
NEEDS_SEEDS = "an interval needs two seeds or more of each"


@dataclass(frozen=True)
class Difference:
    """A group's measure against the reference's.

    reference, value  each group's mean over its models of a model's own number
    difference        value less reference; over documents, of those that both have
    low, high, p      95% interval and two-sided p, NaN where there are none
    over              what both are over: seeds, documents, or nothing
    n_reference, n    seeds, or documents, that have a value on either side
    pairs             documents that have one on both
    """

    reference: float
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
        """A word where there is none."""
        if not math.isnan(self.low):
            return ""
        if self.over == NOTHING:
            return NEEDS_SEEDS
        if self.over == SEEDS and min(self.n_reference, self.n) > 1:
            return "both the same with every seed, which tells nothing of chance"
        return f"fewer than two {self.over} have a value on both sides"


def over_seeds(reference: pd.Series, own: pd.Series) -> Difference:
    """Between numbers of models that share nothing: Welch's."""
    found = independent(own, reference)
    return Difference(
        _mean(reference),
        _mean(own),
        found.difference,
        found.low,
        found.high,
        found.p,
        SEEDS,
        found.n_b,
        found.n_a,
    )


def over_documents(reference: pd.DataFrame, own: pd.DataFrame) -> Difference:
    """(documents, models) each: document by document, each its mean over a group's models.

    Student's t for p as for the interval, so that the two agree, and because values of a number
    that is no mean are made for that.
    """
    left, right = reference.mean(axis=1).align(own.mean(axis=1))
    found = paired(right, left, "t")
    return Difference(
        _mean(reference.mean()),
        _mean(own.mean()),
        found.difference,
        found.low,
        found.high,
        found.p,
        DOCUMENTS,
        int(left.notna().sum()),
        int(right.notna().sum()),
        found.n,
    )


def over_nothing(reference: pd.Series, own: pd.Series) -> Difference:
    """Between numbers that have neither documents nor seeds enough to say how sure they are."""
    a, b = _mean(reference), _mean(own)
    nan, n = math.nan, (int(reference.notna().sum()), int(own.notna().sum()))
    return Difference(a, b, b - a, nan, nan, nan, NOTHING, *n)


def judge(difference: float, holm: float, better: str) -> str:
    """better, worse or unclear; nothing where no way is better.

    holm  p, corrected for the other measures that are judged between the same two groups
    """
    if better == NEITHER:
        return ""
    if math.isnan(holm) or holm >= LEVEL or difference == 0:
        return UNCLEAR
    return BETTER if (difference > 0) == (better == HIGHER) else WORSE


def _mean(values: pd.Series) -> float:
    there = values.dropna().to_numpy(dtype=np.float64)
    return float(there.mean()) if len(there) else math.nan
