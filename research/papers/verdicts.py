"""The rules by which comparisons become a verdict on a claim, and two other rules beside them.

A claim has parts, statements each. A part is a list of comparisons (*this is larger than that*),
and the share of them that the paper's words ask for (`need`). A comparison *goes the claim's way*
if its difference is above zero, and is *clear* if its 95% interval over seeds leaves zero out. A
number that is the same in all seeds has no spread, and is clear. A number of one seed never is.

A part

- **replicates** if the share it needs goes its way, of all comparisons and of the clear ones alone;
- replicates **in part** if half or more of both do;
- **does not** replicate if fewer than half of both do;
- **cannot be told** otherwise: nothing is clear, or the clear ones and the others disagree.

A part with a tally of the paper (*in 10 of 16 models*) is compared with it as a tally. It
replicates if our share is no smaller, and does not if it is smaller by Fisher's exact test,
one-sided, p < 0.05. Between the two it replicates in part if half or more go its way, and cannot
be told otherwise.

A claim replicates if all its parts do. It replicates in part if half or more of them do, in whole
or in part, does not if more than half of them do not, and cannot be told otherwise.

Verdicts have an order: does not, cannot be told, in part, replicates. In it these rules are
monotone: one more comparison that goes against a claim never raises its verdict, and one more that
goes its way never lowers it. For a part has two shares, of all and of the clear, which both fall
with the one and rise with the other.

Two other rules are shown with each claim. The *strict* one asks that every comparison goes the
claim's way, or as large a share as the paper's tally. The *lenient* one asks that more than half
do, clear or not; if only some parts have that, the claim replicates in part.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.stats import fisher_exact

from verax.statistics import SeedMean, welch

DOES_NOT, CANNOT, IN_PART, REPLICATES = VERDICTS = (
    *("does not replicate", "cannot be told here", "replicates in part", "replicates"),
)
"""Verdicts in their order."""
MARKS = {REPLICATES: "✓", IN_PART: "◐", DOES_NOT: "✗", CANNOT: "?"}
"""Verdict → its mark, in the order in which they are counted."""
ALPHA = 0.05


@dataclass(frozen=True)
class Part:
    """A statement of a claim, and its comparisons.

    need   the share of comparisons that has to go its way
    tally  of the paper: in how many of how many it is so
    sense  what is compared, such as `below 15`
    """

    name: str
    comparisons: Sequence[PaperComparison] = ()
    need: float = 1.0
    tally: tuple[int, int] | None = None
    sense: str = ""

    @property
    def of(self) -> int:
        return len(self.comparisons)

    @property
    def favourable(self) -> int:
        """Comparisons that go its way."""
        return sum(c.is_for for c in self.comparisons)

    @property
    def clearly(self) -> int:
        """Those of them that are clear."""
        return sum(c.is_clearly_for for c in self.comparisons)

    @property
    def contrary(self) -> int:
        """Comparisons that clearly go the other way."""
        return sum(c.is_clearly_against for c in self.comparisons)

    @property
    def verdict(self) -> str:
        if not self.of:
            return CANNOT
        if self.tally is not None:
            return self._by_tally()
        clear = self.clearly + self.contrary
        if not clear:
            return CANNOT
        levels = (self._level(self.favourable, self.of), self._level(self.clearly, clear))
        if min(levels) > 0:
            return REPLICATES if min(levels) == 2 else IN_PART
        return DOES_NOT if max(levels) == 0 else CANNOT

    def _level(self, number: int, of: int) -> int:
        # a hair more, so that 7 of 10 is 0.7
        return 2 if number + 1e-9 >= self.need * of else 1 if 2 * number >= of else 0

    def _by_tally(self) -> str:
        if self.reaches_tally():
            return REPLICATES
        if self.fisher < ALPHA:
            return DOES_NOT
        return IN_PART if 2 * self.favourable >= self.of else CANNOT

    def reaches_tally(self) -> bool:
        number, of = self.tally or (0, 1)
        return self.favourable * of >= number * self.of

    @property
    def fisher(self) -> float:
        """How easily chance alone would give a tally as far below the paper's; NaN without one."""
        if self.tally is None:
            return math.nan
        number, of = self.tally
        table = [[self.favourable, self.of - self.favourable], [number, of - number]]
        return float(fisher_exact(table, alternative="less").pvalue)


def combined(verdicts: Sequence[str]) -> str:
    """The verdict of a claim whose parts have these."""
    if verdicts and all(verdict == REPLICATES for verdict in verdicts):
        return REPLICATES
    if verdicts and 2 * sum(v in (REPLICATES, IN_PART) for v in verdicts) >= len(verdicts):
        return IN_PART
    return DOES_NOT if 2 * verdicts.count(DOES_NOT) > len(verdicts) else CANNOT


def judged(parts: Sequence[Part]) -> str:
    """The verdict by the rules of this module."""
    return combined([part.verdict for part in parts])


def strict(parts: Sequence[Part]) -> str:
    """The verdict if every comparison has to go the claim's way, or as many as in a tally."""
    holds = all(p.favourable == p.of if p.tally is None else p.reaches_tally() for p in parts)
    if not parts or (holds and not all(part.of for part in parts)):
        return CANNOT
    return REPLICATES if holds else DOES_NOT


def lenient(parts: Sequence[Part]) -> str:
    """The verdict if more than half of the comparisons of each part have to go its way."""
    known = [part for part in parts if part.of]
    return combined([REPLICATES if 2 * p.favourable > p.of else DOES_NOT for p in known])


OTHER_RULES: dict[str, Callable[[Sequence[Part]], str]] = {"strict": strict, "lenient": lenient}


@dataclass(frozen=True)
class PaperComparison:
    """A difference that a claim says is above zero.

    difference  first less second, and less any margin
    low, high   its 95% interval over seeds; NaN if a side has one seed
    a, b        the two numbers; b is None where a is compared with a bound
    values      axis → the name of its value there
    """

    label: str
    difference: float
    low: float
    high: float
    a: SeedMean
    b: SeedMean | None = None
    values: Mapping[str, str] = field(default_factory=dict)

    @property
    def corpus(self) -> str:
        return self.values.get("corpus", "")

    @property
    def is_for(self) -> bool:
        return self.difference > 0

    @property
    def is_clearly_for(self) -> bool:
        return self.low > 0

    @property
    def is_clearly_against(self) -> bool:
        return self.high < 0

    def to_dict(self) -> dict[str, Any]:
        """The comparison as JSON has it."""
        numbers = {name: getattr(self, name) for name in ("label", "difference", "low", "high")}
        b = None if self.b is None else self.b.to_dict()
        return {**numbers, "a": self.a.to_dict(), "b": b}


def larger(label: str, a: SeedMean, b: SeedMean, by: float = 0.0) -> PaperComparison:
    """The comparison a > b + `by`.

    Two numbers of the same models are compared seed by seed, with Student's interval; numbers of
    different models with Welch's.
    """
    if a.over == "seeds" == b.over and a.cells == b.cells:
        pairs = zip(a.values, b.values, strict=True)
        paired = above(label, SeedMean.of([x - y for x, y in pairs], a.cells), by)
        return replace(paired, a=a, b=b)
    difference, low, high = a.value - b.value - by, math.nan, math.nan
    if a.over == "seeds" == b.over:
        if a.is_constant and b.is_constant:
            difference = 0.0 if math.isclose(a.value, b.value + by, rel_tol=1e-12) else difference
            low = high = difference
        else:
            test = welch(a.values, np.asarray(b.values) + by)
            difference, low, high = test.difference, test.low, test.high
    return PaperComparison(label, difference, low, high, a, b)


def above(label: str, a: SeedMean, bound: float) -> PaperComparison:
    """The comparison a > `bound`, with Student's interval."""
    difference, low, high = a.value - bound, math.nan, math.nan
    if math.isclose(a.value, bound, rel_tol=1e-12):
        difference = 0.0
    if a.over == "seeds":
        low, high = a.low - bound, a.high - bound
        if a.is_constant:
            low = high = difference
    return PaperComparison(label, difference, low, high, a)


def below(label: str, a: SeedMean, bound: float) -> PaperComparison:
    """The comparison a < `bound`; its difference is the bound less a."""
    other = above(label, a, bound)
    return PaperComparison(label, -other.difference, -other.high, -other.low, a)
