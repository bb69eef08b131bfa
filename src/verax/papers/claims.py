"""A claim of a paper, and what the results say of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from verax.papers.comparing import FAILS, HOLDS, UNDECIDED, Comparison, Weighed, weigh
from verax.papers.numbers import Number
from verax.papers.results import Missing, PaperResults


@dataclass(frozen=True)
class Finding:
    """What came of a claim.

    verdict  holds, fails, undecided
    why      in a sentence or two: what was found, and what is not there
    test     what the verdict hangs on
    numbers  name → number, those the verdict comes from
    comparisons  those behind the test
    narrowly     it fails, though nothing in it fails clearly (see `comparing`)
    """

    verdict: str
    why: str
    test: str = ""
    numbers: Mapping[str, Number] = field(default_factory=dict)
    comparisons: Sequence[Comparison] = ()
    narrowly: bool = False

    @property
    def said(self) -> str:
        """The verdict in words: `fails, narrowly`."""
        return f"{self.verdict}, narrowly" if self.narrowly else self.verdict

    @property
    def cells(self) -> list[str]:
        """Keys of all cells behind it, each once."""
        numbers = list(self.numbers.values())
        for comparison in self.comparisons:
            numbers += [comparison.a, *([comparison.b] if comparison.b is not None else [])]
        return list(dict.fromkeys(key for number in numbers for key in number.cells))

    @property
    def n(self) -> int:
        """Comparisons, or numbers where nothing is compared."""
        return len(self.comparisons) or len(self.numbers)


_JUDGED = ("verdict", "narrowly", "why", "test")
Judge = Callable[[PaperResults], Finding]


@dataclass(frozen=True)
class Claim:
    """One thing a paper says, and how to tell.

    id     its number among the paper's claims
    text   what is claimed, in our words
    where  table, figure or section
    judge  from results to a finding; a `Missing` that it raises makes it undecided
    """

    id: int
    text: str
    where: str
    judge: Judge

    def check(self, results: PaperResults) -> Finding:
        try:
            return self.judge(results)
        except Missing as missing:
            return Finding(UNDECIDED, str(missing))

    def told(self, finding: Finding, own: Finding | None = None) -> dict[str, Any]:
        """As `verax papers check --json` has it; `own` is on the paper's own corpora alone."""
        return {
            "id": self.id,
            "text": self.text,
            "where": self.where,
            "verdict": finding.verdict,
            "narrowly": finding.narrowly,
            "why": finding.why,
            "test": finding.test,
            "own_corpora": None if own is None else {name: getattr(own, name) for name in _JUDGED},
            "numbers": {name: number.told() for name, number in finding.numbers.items()},
            "comparisons": [comparison.told() for comparison in finding.comparisons],
            "n": finding.n,
            "cells": finding.cells,
        }


def by_comparisons(
    comparisons: Sequence[Comparison],
    why: str,
    need: float = 1.0,
    numbers: Mapping[str, Number] | None = None,
) -> Finding:
    """A finding whose verdict is that of `weigh`; without comparisons, undecided."""
    if not comparisons:
        return Finding(UNDECIDED, "none of the cells that it compares is there")
    weighed = weigh(comparisons, need)
    test, every = weighed.test, tuple(comparisons)
    return Finding(weighed.verdict, why, test, numbers or {}, every, weighed.narrowly)


def all_of(parts: Sequence[tuple[str, Sequence[Comparison], float]], why: str) -> Finding:
    """A claim of several parts (name, comparisons, need), all of which have to hold.

    One that fails clearly settles it. Else a part without comparisons leaves it undecided, and is
    named; and where all are there, one that fails narrowly makes it fail narrowly.
    """
    found: list[tuple[str, Weighed]] = []
    comparisons: list[Comparison] = []
    for name, own, need in parts:
        found.append((name, weigh(own, need)))
        comparisons += own
    failing = [weighed for _, weighed in found if weighed.verdict == FAILS]
    narrowly = bool(failing) and all(weighed.narrowly for weighed in failing)
    lacking = [name for name, weighed in found if weighed.verdict == UNDECIDED]
    verdict = FAILS if failing else HOLDS
    if lacking and (narrowly or not failing):
        verdict, narrowly = UNDECIDED, False
        why = f"{why.rstrip('.')}; there is nothing to compare for {' and '.join(lacking)}."
    test = "; ".join(f"{name}: {weighed.said}, {weighed.test}" for name, weighed in found)
    return Finding(verdict, why, test, {}, tuple(comparisons), narrowly)
