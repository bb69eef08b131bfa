"""The paper's vaguer words as numbers, and how claims are judged by them.

All were set from how the paper uses a word and from its own tables, before there were results.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from verax.papers.claims import Comparisons, Finding, all_of
from verax.papers.comparing import PaperComparison
from verax.papers.words import listed
from verax.papers.results import PaperResults

VAST_MAJORITY = 85.0
"""Percent. The paper says it of Table 2, where 85.6 to 90.9 percent do not flip."""
NEARLY_ALL = 95.0
"""Percent of documents: more than the vast majority, with room for one in twenty."""
MANY = 25.0
"""Percent of documents: fewer than one in four are some, not many."""
SMALL_DELTA = 0.2
"""Δα goes from 0 to 1: cases that did not depend on it would have a fifth below this."""
FEWEST = 10
"""Documents that a tenth of Δα needs for its median to count."""
SLIGHT = 0.05
"""Of the items, or of the mass. The paper's clear shift is 0.25; a twentieth of an axis that goes
from 0 to 1 is about what a box plot still shows. Less is *slight*, *close* or *on par*, more is
*clear*, and *about* allows for it."""
MUCH = 0.1
"""Of the items: *much earlier*, *plummets*. Twice what is slight."""
MUCH_MORE = 2.0
"""Times: *much more so*, *much weaker*."""

ALL = 1.0
NEARLY_ALL_MODELS = 0.9
GENERALLY = 2 / 3
"""Of models, where the paper speaks of them at large, or of *most*: two in three."""
OFTEN = 0.5
"""Of models: *often*, *not always*."""

ONE_ITEM = "the erasure exam, of one item"
IN_ORDER = "the erasure exam, of items in order"
"""What claims need of results."""


def judged_on(results: PaperResults, comparisons: Sequence[PaperComparison]) -> str:
    """A sentence with the corpora of the compared cells, as in `Judged on imdb and yelp.`"""
    keys = {key for c in comparisons for n in (c.a, c.b) if n is not None for key in n.cells}
    compared = results.cells[results.cells["cell"].isin(keys)]
    names = [str(name) for name in dict.fromkeys(compared["corpus"])]
    return f"Judged on {listed(names)}."


def counted(comparisons: Sequence[PaperComparison]) -> list[PaperComparison]:
    """Comparisons without a p, so that their number alone decides: for claims of how many models.

    The paper itself has models that go the other way. One that does so by far would outweigh the
    others in a joint test.
    """
    return [replace(comparison, p=math.nan) for comparison in comparisons]


def all_parts(
    results: PaperResults,
    parts: Sequence[tuple[str, Sequence[PaperComparison], float]],
    why: str,
    needs: str,
) -> Finding:
    """As `all_of`, with the corpora in `why`; raises `Missing` if there is no comparison at all."""
    comparisons = Comparisons(comparison for _, part, _ in parts for comparison in part)
    comparisons.require(needs)
    return all_of(parts, f"{why} {judged_on(results, comparisons)}")
