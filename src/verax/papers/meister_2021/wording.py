"""Numbers as words of a finding: ranges, counts, and what a claim was judged on."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from verax.papers.meister_2021.models import CORPORA, Model
from verax.papers.numbers import Number
from verax.papers.saying import span


def between(numbers: Iterable[Number | None], digits: int = 2) -> str:
    """The range of several numbers; empty where there is none.

    >>> between([Number.of([0.5], ["a"]), Number.of([0.25], ["b"]), None])
    '0.25 to 0.50'
    """
    values = [n.value for n in numbers if n is not None and not math.isnan(n.value)]
    if not values:
        return ""
    return span(values, f".{digits}f")


def moved(changes: Sequence[float]) -> str:
    """The range of changes, with their signs.

    >>> moved([0.012, -0.3]), moved([0.1])
    ('-0.30 to +0.01', '+0.10')
    """
    return span(changes, "+.2f")


def judged_on(corpora: Iterable[str]) -> str:
    """Which corpora a verdict is from, and which of the paper's are not among them."""
    there = list(dict.fromkeys(corpora))
    if not there:
        return ""
    lacking = [theirs for ours, theirs in CORPORA.items() if ours not in there]
    told = f"Judged on {', '.join(there)}"
    return f"{told}; without {', '.join(lacking)}." if lacking else f"{told}."


def corpora_of(found: Iterable[Model]) -> list[str]:
    return [model.corpus for model in found]
