"""Claims of a paper, and the findings that results give of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from research.papers.axes import Point, Source, Value
from research.papers.results import PaperResults
from research.papers.verdicts import (
    OTHER_RULES,
    PaperComparison,
    Part,
    above,
    below,
    judged,
    larger,
)
from research.papers.words import span


@dataclass(frozen=True)
class Finding:
    """What came of a claim.

    parts     its statements, by which it is judged
    reported  statements beside them that have no part in the verdict
    theirs    the paper's number, in a few words
    ours      the number beside it
    why       what is missing, if nothing can be compared
    """

    parts: Sequence[Part] = ()
    reported: Sequence[Part] = ()
    theirs: str = ""
    ours: str = ""
    why: str = ""

    @property
    def verdict(self) -> str:
        """One of `research.papers.verdicts.VERDICTS`."""
        return judged(self.parts)

    @property
    def other_verdicts(self) -> dict[str, str]:
        """Other rule → its verdict."""
        return {name: rule(self.parts) for name, rule in OTHER_RULES.items()}

    @property
    def comparisons(self) -> list[PaperComparison]:
        """Those behind the verdict."""
        return [comparison for part in self.parts for comparison in part.comparisons]

    @property
    def cells(self) -> list[str]:
        """Keys of all cells behind the finding, each once."""
        numbers = [n for c in self.comparisons for n in (c.a, c.b) if n is not None]
        return list(dict.fromkeys(key for number in numbers for key in number.cells))

    def to_dict(self) -> dict[str, Any]:
        """The finding as JSON has it."""
        return {
            "verdict": self.verdict,
            "other_rules": self.other_verdicts,
            "paper": self.theirs,
            "here": self.ours,
            "why": self.why,
            "parts": [_as_json(part) for part in self.parts],
            "reported": [_as_json(part) for part in self.reported],
            "cells": self.cells,
        }


def _as_json(part: Part) -> dict[str, Any]:
    names = (
        "name",
        "verdict",
        "need",
        "tally",
        "fisher",
        "favourable",
        "clearly",
        "contrary",
        "of",
    )
    comparisons = [comparison.to_dict() for comparison in part.comparisons]
    return {**{name: getattr(part, name) for name in names}, "comparisons": comparisons}


@dataclass(frozen=True)
class Claim:
    """One statement of a paper, and the function that judges it.

    id       its number among the paper's claims
    text     the statement, in our words
    where    table, figure or section
    check    results → finding
    short    the statement in twelve words at most
    rank     its place among the claims that the paper is about, shown first; 0 for others
    corpora  those that the paper makes the claim of, if these are not all of its own
    note     what a reader of the verdict should know
    cause    of a verdict other than `replicates`: corpus, training, test or genuine → in words
    """

    id: int
    text: str
    where: str
    check: Callable[[PaperResults], Finding]
    short: str = ""
    rank: int = 0
    corpora: Sequence[str] = ()
    note: str = ""
    cause: Mapping[str, str] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The shorter of its texts."""
        return self.short or self.text

    def to_dict(self) -> dict[str, Any]:
        """The claim as JSON has it."""
        names = ("id", "text", "short", "where", "rank", "note")
        return {**{name: getattr(self, name) for name in names}, "cause": dict(self.cause)}


class Span(list[float]):
    """Numbers that are written as their range, with typographic minus signs.

    >>> f"{Span([0.5, 0.25])}, {Span([-1.2, 0.42]):+.1f}"
    '0.25–0.50, −1.2 to +0.4'
    """

    def __format__(self, form: str) -> str:
        return span(self, form or ".2f")


class Comparisons(list[PaperComparison]):
    """Comparisons of a claim. `sense` says what is compared, such as `below 15`."""

    sense = ""

    def __getitem__(self, key: Any) -> Any:
        """Those of a value of any axis, by its name."""
        if not isinstance(key, str):
            return super().__getitem__(key)
        return self.chosen(key)

    def chosen(self, *names: str) -> Comparisons:
        """Return those of values of axes, by their names."""
        found = Comparisons(c for c in self if set(names) <= set(c.values.values()))
        found.sense = self.sense
        return found

    @property
    def tally(self) -> str:
        """How many are as claimed: `5 of 6`."""
        return f"{sum(c.is_for for c in self)} of {len(self)}"

    @property
    def span(self) -> Span:
        """The range of the first numbers."""
        return Span(c.a.value for c in self)

    @property
    def others(self) -> Span:
        """The range of the second numbers."""
        return Span(c.b.value for c in self if c.b is not None)

    @property
    def differences(self) -> Span:
        """The range of the first number less the second, without any margin."""
        return Span(c.a.value - c.b.value for c in self if c.b is not None)

    @property
    def changes(self) -> Span:
        """The range of the second number less the first."""
        return Span(-value for value in self.differences)


def compare(
    points: Iterable[Point],
    a: Source,
    *,
    above: float | None = None,
    below: float | None = None,
    b: Source | None = None,
    by: float = 0.0,
    alike: float | None = None,
    given: float | None = None,
    label: str,
) -> Comparisons:
    """Compare a number with a bound or with another one, point by point.

    Points that lack a number are left out.

    Args:
        points: where to compare.
        a: the first number.
        above, below: the bound that a is claimed to be above or below.
        b: the second number, which a is claimed to exceed.
        by: the margin by which a has to exceed b.
        alike: the claim is that a and b differ by less.
        given: a comparison where both numbers are smaller is neither for the claim nor clear.
        label: a template.
    """
    comparisons = Comparisons()
    for point in points:
        compared = _compared(point, a, above, below, b, by, alike, given, point.text(label))
        if compared is not None:
            names = {axis: str(value.name) for axis, value in point.values.items()}
            comparisons.append(replace(compared, values=names))
    if b is None:
        comparisons.sense = f"above {above:g}" if below is None else f"below {below:g}"
    elif alike is not None:
        comparisons.sense = f"within {alike:g}"
    elif by:
        comparisons.sense = f"more than {by:g} above" if by > 0 else f"at most {-by:g} below"
    return comparisons


def _compared(
    point: Point,
    a: Source,
    above_: float | None,
    below_: float | None,
    b: Source | None,
    by: float,
    alike: float | None,
    given: float | None,
    label: str,
) -> PaperComparison | None:
    first = point.number(a)
    if first is None:
        return None
    if below_ is not None:
        return below(label, first, below_)
    if above_ is not None:
        return above(label, first, above_)
    second = None if b is None else point.number(b)
    if second is None:
        return None
    if given is not None and max(abs(first.value), abs(second.value)) < given:
        # too small for the two to differ: it neither goes the claim's way nor is clear
        return PaperComparison(label, 0.0, math.nan, math.nan, first, second)
    if alike is not None:
        first, second = sorted((first, second), key=lambda number: number.value)
        return larger(label, first, second, -alike)
    return larger(label, first, second, by)


def part(
    name: str, comparisons: Comparisons, need: float = 1.0, tally: tuple[int, int] | None = None
) -> Part:
    """Return a part of a claim; see `Part`."""
    return Part(name, comparisons, need, tally, comparisons.sense)


def each(comparisons: Comparisons, values: Iterable[Value], need: float = 1.0) -> list[Part]:
    """Return a part for each value of an axis."""
    return [part(str(v.name), comparisons.chosen(str(v.name)), need) for v in values]


def finding(
    parts: Sequence[Part],
    theirs: str,
    ours: str,
    reported: Iterable[Part] = (),
    needs: str = "no finished cell has what this compares",
) -> Finding:
    """Return the finding of a claim.

    Args:
        parts: those by which the claim is judged.
        theirs: the paper's number, in a few words.
        ours: the number beside it.
        reported: parts beside them, shown without a part in the verdict.
        needs: what is missing if nothing can be compared.
    """
    if not any(one.comparisons for one in parts):
        return Finding(why=needs)
    return Finding(parts, [one for one in reported if one.comparisons], theirs, ours)


Check = Callable[[PaperResults], Finding]


class Claims(list[Claim]):
    """The claims of a paper; a decorator adds one."""

    def __call__(self, id: int, where: str, **about: Any) -> Callable[[Check], Check]:
        """Add the claim that a function judges, whose docstring is its text.

        Args:
            id: its number.
            where: the paper makes it: table, figure or section.
            about: further fields of `Claim`.
        """

        def add(check: Check) -> Check:
            self.append(Claim(id, " ".join((check.__doc__ or "").split()), where, check, **about))
            return check

        return add


@dataclass(frozen=True)
class Aside:
    """Why no verdict goes by a corpus: the reason, and in which of its models it is so."""

    reason: str
    detail: str
