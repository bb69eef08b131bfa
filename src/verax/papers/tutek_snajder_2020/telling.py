"""What comparisons of this paper say, in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from verax.papers import saying
from verax.papers.comparing import Comparison, Label
from verax.papers.results import Missing

_FEW = 6


def label(corpus: str, *rest: str) -> Label:
    """What a comparison is called.

    >>> label("sst", "dot", "tying")
    'sst: dot, tying'
    """
    return Label(f"{corpus}: {', '.join(rest)}", corpus)


def on(comparisons: Iterable[Comparison]) -> str:
    """The corpora that were compared, each once."""
    names = dict.fromkeys(c.corpus for c in comparisons)
    return f"on {', '.join(names)}"


def exceptions(comparisons: Iterable[Comparison]) -> str:
    """Those that are not as claimed, the first by their labels, in brackets; empty if all are."""
    names = [c.label for c in comparisons if not c.is_for]
    told = names[:_FEW] + ([f"{len(names) - _FEW} more"] if len(names) > _FEW else [])
    return f" (not: {'; '.join(told)})" if told else ""


def span(values: Iterable[float], digits: int = 1, sign: bool = False) -> str:
    """The smallest to the largest.

    >>> span([0.42, -1.2], sign=True), span([0.5])
    ('−1.2 to +0.4', '0.5')
    """
    return saying.span(values, f"{'+' if sign else ''}.{digits}f").replace("-", "−")


def needed(comparisons: Sequence[Comparison], what: str) -> None:
    """Nothing if there is anything to compare; `Missing`, with what it takes, if not."""
    if not comparisons:
        raise Missing(f"needs {what}, which are not in these results")
