"""Claims of a paper, and the findings that results give of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from verax.papers.comparing import (
    FAILS,
    HOLDS,
    UNDECIDED,
    PaperComparison,
    weigh,
)
from verax.papers.numbers import SeedMean
from verax.papers.results import Missing, PaperResults
from verax.papers.words import listed, span


@dataclass(frozen=True)
class Finding:
    """What came of a claim.

    verdict      holds, fails, undecided
    why          the reason in a sentence or two, and what is missing
    test         the counts and the p that the verdict depends on
    numbers      name → number behind the verdict
    comparisons  those behind the test
    narrowly     whether it fails though nothing in it fails clearly (see `comparing`)
    """

    verdict: str
    why: str
    test: str = ""
    numbers: Mapping[str, SeedMean] = field(default_factory=dict)
    comparisons: Sequence[PaperComparison] = ()
    narrowly: bool = False

    @property
    def verdict_words(self) -> str:
        """The verdict in words: `fails, narrowly`."""
        return f"{self.verdict}, narrowly" if self.narrowly else self.verdict

    @property
    def cells(self) -> list[str]:
        """Keys of all cells behind the finding, each once."""
        numbers = list(self.numbers.values())
        for comparison in self.comparisons:
            numbers += [comparison.a, *([comparison.b] if comparison.b is not None else [])]
        return list(dict.fromkeys(key for number in numbers for key in number.cells))

    @property
    def n(self) -> int:
        """The number of comparisons, or of numbers where nothing is compared."""
        return len(self.comparisons) or len(self.numbers)


_JUDGED = ("verdict", "narrowly", "why", "test")
Judge = Callable[[PaperResults], Finding]


@dataclass(frozen=True)
class Claim:
    """One statement of a paper, and the function that judges it.

    id     its number among the paper's claims
    text   the statement, in our words
    where  table, figure or section
    judge  results → finding; if it raises `Missing`, the claim is undecided
    """

    id: int
    text: str
    where: str
    judge: Judge

    def check(self, results: PaperResults) -> Finding:
        """What results say of the claim."""
        try:
            return self.judge(results)
        except Missing as missing:
            return Finding(UNDECIDED, str(missing))

    def to_dict(self, finding: Finding, on_paper: Finding | None = None) -> dict[str, Any]:
        """The claim and its finding as `verax papers check --json` has them.

        `on_paper` is the finding on the paper's corpora alone.
        """
        alone = None if on_paper is None else {name: getattr(on_paper, name) for name in _JUDGED}
        return {
            "id": self.id,
            "text": self.text,
            "where": self.where,
            "verdict": finding.verdict,
            "narrowly": finding.narrowly,
            "why": finding.why,
            "test": finding.test,
            "own_corpora": alone,
            "numbers": {name: number.to_dict() for name, number in finding.numbers.items()},
            "comparisons": [comparison.to_dict() for comparison in finding.comparisons],
            "n": finding.n,
            "cells": finding.cells,
        }


_FEW = 6
"""The number of exceptions that a sentence names."""


class Span(list[float]):
    """Numbers that are written as their range.

    The form is that of a number; with − at its end, minus signs are typographic.

    >>> f"{Span([0.5, 0.25])}, {Span([-1.2, 0.42]):+.1f−}"
    '0.25 to 0.50, −1.2 to +0.4'
    """

    def __format__(self, form: str) -> str:
        text = span(self, form.rstrip("−") or ".2f")
        return text.replace("-", "−") if form.endswith("−") else text


class Pairs(list[tuple[str, float, float]]):
    """Names and two numbers, written with the form of a number."""

    def __format__(self, form: str) -> str:
        return ", ".join(f"{a:{form}} and {b:{form}} ({name})" for name, a, b in self)


class Ends(Pairs):
    """The same, written as from the second number to the first, in brackets."""

    def __format__(self, form: str) -> str:
        ends = ", ".join(f"{name} {b:{form}} to {a:{form}}" for name, a, b in self)
        return f" ({ends})" if ends else ""


class Comparisons(list[PaperComparison]):
    """The comparisons behind a claim.

    Templates of `why` take its properties: `{NAME.tally}`, `{NAME.span:.1f}`.
    """

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
    def by(self) -> dict[str, str]:
        """Axis → the tally of each of its values, as in `tying 3 of 4, mlm 2 of 4`."""
        names: dict[str, dict[str, None]] = {}
        for axis, name in (item for c in self for item in c.values.items()):
            names.setdefault(axis, {})[name] = None
        return {a: ", ".join(f"{n} {self[n].tally}" for n in names[a]) for a in names}

    @property
    def corpora(self) -> str:
        """The corpora that were compared, each once."""
        return ", ".join(dict.fromkeys(c.corpus for c in self))

    @property
    def listed(self) -> str:
        """The same, with *and* before the last."""
        return listed(list(dict.fromkeys(c.corpus for c in self)))

    @property
    def exceptions(self) -> str:
        """In brackets, the labels of the first that are not as claimed; empty if all are."""
        names = [c.label for c in self if not c.is_for]
        shown = names[:_FEW] + ([f"{len(names) - _FEW} more"] if len(names) > _FEW else [])
        return f" (not: {'; '.join(shown)})" if shown else ""

    @property
    def labels(self) -> str:
        """All labels, with semicolons between."""
        return "; ".join(c.label for c in self)

    @property
    def span(self) -> Span:
        """The range of the first numbers."""
        return Span(c.a.value for c in self)

    @property
    def others(self) -> Span:
        """The range of the second numbers."""
        return Span(b for _, _, b in self.pairs)

    @property
    def differences(self) -> Span:
        """The range of the first number less the second, without any margin."""
        return Span(a - b for _, a, b in self.pairs)

    @property
    def changes(self) -> Span:
        """The range of the second number less the first."""
        return Span(b - a for _, a, b in self.pairs)

    @property
    def ahead(self) -> int:
        """How many have a larger first number, without any margin."""
        return sum(a > b for _, a, b in self.pairs)

    @property
    def pairs(self) -> Pairs:
        """Both numbers of each: `93.4 and 94.2 (ag_news), …`"""
        return Pairs((c.label, c.a.value, c.b.value) for c in self if c.b is not None)

    @property
    def ends(self) -> Ends:
        """From the second number to the first, by corpus: ` (sst 0.10 to 0.45, …)`"""
        return Ends((c.corpus, c.a.value, c.b.value) for c in self if c.b is not None)


def by_comparisons(
    comparisons: Sequence[PaperComparison],
    why: str,
    need: float = 1.0,
    numbers: Mapping[str, SeedMean] | None = None,
) -> Finding:
    """A finding with the verdict of `weigh`; it is undecided without comparisons."""
    if not comparisons:
        return Finding(UNDECIDED, "none of the cells that it compares is there")
    weighed = weigh(comparisons, need)
    test, every = weighed.test, tuple(comparisons)
    return Finding(weighed.verdict, why, test, numbers or {}, every, weighed.narrowly)


def all_of(parts: Sequence[tuple[str, Sequence[PaperComparison], float]], why: str) -> Finding:
    """The finding of a claim whose parts (name, comparisons, need) all have to hold.

    A part that fails clearly makes the claim fail. Otherwise a part without comparisons leaves it
    undecided, and the finding names that part. Otherwise a part that fails narrowly makes the claim
    fail narrowly.
    """
    verdicts = [(name, weigh(comparisons, need)) for name, comparisons, need in parts]
    failing = [weighed for _, weighed in verdicts if weighed.verdict == FAILS]
    narrowly = bool(failing) and all(weighed.narrowly for weighed in failing)
    lacking = [name for name, weighed in verdicts if weighed.verdict == UNDECIDED]
    verdict = FAILS if failing else HOLDS
    if lacking and (narrowly or not failing):
        verdict, narrowly = UNDECIDED, False
        why = f"{why.rstrip('.')}; there is nothing to compare for {' and '.join(lacking)}."
    test = "; ".join(
        f"{name}: {weighed.verdict_words}, {weighed.test}" for name, weighed in verdicts
    )
    every = tuple(comparison for _, comparisons, _ in parts for comparison in comparisons)
    return Finding(verdict, why, test, {}, every, narrowly)
