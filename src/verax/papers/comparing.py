"""Comparisons of numbers, and the verdict of several on one claim.

A claim of the kind *X is larger than Y, everywhere* is a list of comparisons, and how many of them
have to go its way. The verdict is on the comparisons at hand. A claim

- **holds** if enough of them go its way, and all together are in its favour beyond chance: by
  Stouffer's sum of their one-sided tests, p < 0.05;
- **fails** if so many go clearly the other way (their 95% interval excludes zero) that the others
  do not suffice, or if together they go the other way;
- **fails narrowly** otherwise: its own criterion is not met, though they are not clearly against
  it, and more seeds might turn it;
- is **undecided** only where there is nothing to compare.

Comparisons share documents, and some of them models, so Stouffer's p is smaller than it should be:
read it as a floor.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri, stdtr

from verax.papers.numbers import NORMAL, SEEDS, SeedMean, plain
from verax.statistics import independent
from verax.statistics.missing import is_constant, present

HOLDS, FAILS, UNDECIDED = "holds", "fails", "undecided"
NARROWLY = "narrowly"
ALPHA = 0.05


class Label(str):
    """The name of a comparison, its corpus, and the names of its values by axis.

    >>> label = Label("sst, bilstm", "sst", {"encoder": "bilstm"})
    >>> label, label.corpus, label.values
    ('sst, bilstm', 'sst', {'encoder': 'bilstm'})
    """

    corpus: str
    values: Mapping[str, str]

    def __new__(cls, text: str, corpus: str, values: Mapping[str, str] | None = None) -> Label:
        label = super().__new__(cls, text)
        label.corpus, label.values = corpus, values or {}
        return label


@dataclass(frozen=True)
class PaperComparison:
    """A difference that a claim says is above zero.

    difference  first less second, and less any margin
    low, high   its 95% interval; NaN if the spread is unknown
    p           one-sided: how easily chance alone would give as much; NaN if the spread is unknown
    a, b        the two numbers; b is None where a is compared with a bound
    """

    label: str
    difference: float
    low: float
    high: float
    p: float
    a: SeedMean
    b: SeedMean | None = None

    @property
    def corpus(self) -> str:
        """Its corpus: that of a `Label`, otherwise the whole label."""
        return self.label.corpus if isinstance(self.label, Label) else self.label

    @property
    def values(self) -> Mapping[str, str]:
        """The names of its values by axis: those of a `Label`."""
        return self.label.values if isinstance(self.label, Label) else {}

    @property
    def is_for(self) -> bool:
        return self.difference > 0

    @property
    def is_clearly_against(self) -> bool:
        return self.high < 0 if not math.isnan(self.high) else self.difference < 0

    @property
    def is_clearly_for(self) -> bool:
        return self.low > 0 if not math.isnan(self.low) else self.difference > 0

    def to_dict(self) -> dict[str, Any]:
        """The comparison as JSON has it."""
        return {
            "label": self.label,
            "difference": plain(self.difference),
            "low": plain(self.low),
            "high": plain(self.high),
            "p": plain(self.p),
            "a": self.a.to_dict(),
            "b": None if self.b is None else self.b.to_dict(),
        }


def larger(label: str, a: SeedMean, b: SeedMean, by: float = 0.0) -> PaperComparison:
    """The comparison a > b + `by`.

    Its test is Welch's over seeds if both have two or more, otherwise a normal one over documents.
    """
    if a.over == SEEDS == b.over:
        welch = independent(a.values, np.asarray(b.values) + by)
        p = welch.p / 2 if welch.difference > 0 else 1 - welch.p / 2
        return PaperComparison(label, welch.difference, welch.low, welch.high, p, a, b)
    difference = a.value - b.value - by
    return _normal(label, difference, math.hypot(a.error, b.error), a, b)


def above(label: str, a: SeedMean, bound: float) -> PaperComparison:
    """The comparison a > `bound`, which is no result itself."""
    difference = a.value - bound
    if a.over == SEEDS:
        if is_constant(present(a.values)[0]):  # the spread is unknown, as in `independent`
            if math.isclose(a.value, bound, rel_tol=1e-12):
                return PaperComparison(label, 0.0, math.nan, math.nan, 0.5, a)
            return PaperComparison(label, difference, math.nan, math.nan, math.nan, a)
        p = float(stdtr(a.seeds - 1, -difference / a.error))
        return PaperComparison(label, difference, a.low - bound, a.high - bound, p, a)
    return _normal(label, difference, a.error, a, None)


def below(label: str, a: SeedMean, bound: float) -> PaperComparison:
    """The comparison a < `bound`; its difference is the bound less a."""
    opposite = above(label, a, bound)
    p = 1 - opposite.p
    return PaperComparison(label, -opposite.difference, -opposite.high, -opposite.low, p, a)


def _normal(
    label: str, difference: float, error: float, a: SeedMean, b: SeedMean | None
) -> PaperComparison:
    if not error > 0:  # NaN, or nothing that spreads
        return PaperComparison(label, difference, math.nan, math.nan, math.nan, a, b)
    half = NORMAL * error
    p = 1 - float(ndtr(difference / error))
    return PaperComparison(label, difference, difference - half, difference + half, p, a, b)


@dataclass(frozen=True)
class Weighed:
    """The verdict of several comparisons.

    of           how many comparisons there are
    need         how many of them have to go the claim's way
    favourable   those with a difference above zero
    clearly      those of them that are clearly above zero
    contrary     those clearly below zero
    p            of all together, one-sided (Stouffer)
    narrowly     whether it fails though they are not clearly against it
    """

    verdict: str
    favourable: int
    clearly: int
    contrary: int
    of: int
    need: int
    p: float
    narrowly: bool = False

    @property
    def verdict_words(self) -> str:
        return f"{self.verdict} narrowly" if self.narrowly else self.verdict

    @property
    def test(self) -> str:
        """The counts and the joint p in a sentence."""
        if not self.of:
            return "nothing to compare"
        how = "by their number"
        if not math.isnan(self.p):
            how = f"together p {_shown(self.p)}, one-sided, Stouffer"
        return (
            f"{self.favourable} of {self.of} as claimed, {self.clearly} of them clearly, "
            f"{self.contrary} clearly not ({self.need} needed); {how}"
        )


def weigh(comparisons: Sequence[PaperComparison], need: float = 1.0) -> Weighed:
    """The verdict if at least a share of `need` of the comparisons has to go the claim's way."""
    of = len(comparisons)
    # a hair less, so that 0.7 of 10 is 7
    needed = math.ceil(need * of - 1e-9)
    favourable = sum(c.is_for for c in comparisons)
    clearly = sum(c.is_clearly_for for c in comparisons)
    contrary = sum(c.is_clearly_against for c in comparisons)
    p = together([c.p for c in comparisons])
    narrowly = False
    if of == 0:
        verdict = UNDECIDED
    elif of - contrary < needed or p > 1 - ALPHA:
        verdict = FAILS
    elif math.isnan(p):
        verdict = HOLDS if favourable >= needed else FAILS
    elif p < ALPHA and favourable >= needed:
        verdict = HOLDS
    else:
        verdict, narrowly = FAILS, True
    return Weighed(verdict, favourable, clearly, contrary, of, needed, p, narrowly)


def together(ps: Sequence[float]) -> float:
    """One-sided p-values as one, by Stouffer's method; NaNs are left out."""
    known = np.array([p for p in ps if not math.isnan(p)])
    if not len(known):
        return math.nan
    # of p itself: 1 − p would lose the digits of a small one
    z = -ndtri(np.clip(known, 1e-15, 1 - 1e-15)).sum() / math.sqrt(len(known))
    return float(ndtr(-z))


def _shown(p: float) -> str:
    return "< 0.001" if p < 0.001 else "> 0.999" if p > 0.999 else f"= {p:.3f}"
