"""The groups of documents in the paper's figures; paper.yaml names the function."""

from __future__ import annotations

from collections.abc import Iterator

from verax.exams.adversary.measures import ALL, group_of
from verax.papers.points import Point, Value


def groups(point: Point, column: str) -> Iterator[Value]:
    """Groups of a model's documents, by the class decided for and the largest weight."""
    for row in point.rows(f"adversary.groups/{column}"):
        decided, weights = group_of(row)
        facts = {
            "decided": ALL if decided is None else str(decided),
            "weights": ALL if weights is None else f"{weights[0]:g}–{weights[1]:g}",
        }
        yield Value(row, {}, facts)
