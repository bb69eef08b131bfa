"""Cases that hold every pair of choices, where the full product would prove the same again."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

Case = tuple[Any, ...]


def pairwise(*choices: Sequence[Any], allowed: Callable[..., bool] | None = None) -> list[Case]:
    """Few cases, each with one of every parameter's choices, that hold every pair of two.

    Each next case is the first of those with most pairs not seen yet.
    `allowed` gets a whole case; pairs that no allowed case holds are left out.
    """
    cases = [case for case in itertools.product(*choices) if allowed is None or allowed(*case)]
    pairs = {case: set(itertools.combinations(enumerate(case), 2)) for case in cases}
    missing = set().union(*pairs.values())
    picked = []
    while missing:
        best = max(cases, key=lambda case: len(pairs[case] & missing))
        picked.append(best)
        missing -= pairs[best]
    return picked
