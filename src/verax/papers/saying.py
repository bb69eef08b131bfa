"""What comparisons come to, in words that the findings of all papers share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from verax.papers.comparing import Comparison
from verax.papers.results import Missing


def tally(comparisons: Sequence[Comparison]) -> str:
    """How many are as claimed: `5 of 6`."""
    return f"{sum(c.is_for for c in comparisons)} of {len(comparisons)}"


def span(values: Iterable[float], form: str = ".2f") -> str:
    """From the least to the greatest of some values.

    >>> span([0.5, 0.25]), span([0.012, -0.3], "+.2f"), span([0.1])
    ('0.25 to 0.50', '-0.30 to +0.01', '0.10')
    """
    given = list(values)
    low, high = f"{min(given):{form}}", f"{max(given):{form}}"
    return low if low == high else f"{low} to {high}"


def listed(names: Sequence[str]) -> str:
    """Names as a sentence has them.

    >>> listed(["imdb"]), listed(["20news", "imdb", "yelp"])
    ('imdb', '20news, imdb and yelp')
    """
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def refuse_none(comparisons: Sequence[Comparison], needed: str) -> None:
    """Nothing if there is anything to compare; `Missing`, with what it takes, if not."""
    if not comparisons:
        raise Missing(f"no finished cell has what this needs: {needed}")
