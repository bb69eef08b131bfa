"""What the erasure exam's numbers are."""

from __future__ import annotations

ALL_DRAWS = "random@all"
AUTHORS = "authors"


def variant(name: str, rule: str) -> str:
    """The row of an importance's top item against a random one drawn by a rule.

    >>> variant("attention", "authors"), variant("attention", "paper")
    ('attention@authors', 'attention')
    """
    return f"{name}@{AUTHORS}" if rule == AUTHORS else name


def pair(one: str, other: str) -> str:
    """The row of two rankings held against each other."""
    return f"{one}:{other}"


def tenth(low: float, high: float) -> str:
    """The row of a tenth of Δα."""
    return f"{low:.1f}-{high:.1f}"
