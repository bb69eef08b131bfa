"""The groups of documents in the paper's figures; paper.yaml names the function."""

from __future__ import annotations

from collections.abc import Iterator

from research.papers.points import Point, Value


def groups(point: Point, column: str) -> Iterator[Value]:
    """Groups of a model's documents, by the class decided for and the largest weight."""
    for row in point.rows(f"adversary.groups/{column}"):
        group = dict(part.split("=") for part in row.split(",") if part != "all")
        decided, weights = group.get("class", "all"), group.get("max_weight", "all")
        facts = {"decided": decided, "weights": weights.replace("-", "–")}
        yield Value(row, {}, facts)
