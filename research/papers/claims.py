"""Claims of a paper, and the findings that results give of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from research.papers.comparing import PaperComparison
from research.papers.results import PaperResults
from research.papers.verdicts import OTHER_RULES, Part, judged
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
    """The comparisons of a part; templates of a claim's line take its properties."""

    def __getitem__(self, key: Any) -> Any:
        """Those of a value of any axis, by its name, as in `{NAME[dot].tally}`."""
        if not isinstance(key, str):
            return super().__getitem__(key)
        return Comparisons(c for c in self if key in c.values.values())

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
