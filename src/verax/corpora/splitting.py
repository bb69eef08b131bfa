"""Cutting splits that stay the same for ever."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def stratified_order(
    texts: Sequence[str], labels: Sequence[object], seed: int
) -> NDArray[np.float64]:
    """A place in (0, 1) for every document, spread evenly within each label.

    Documents of one label are ordered by the SHA-256 of seed and text and placed at (rank + ½)/n,
    so any cut on these places takes the same share of each label. A hash rather than a random
    generator: the cut survives changes of library, machine and row order. Copies of one text, of
    one label or several, all take the first place among them, so no cut parts them.
    """
    keys = [
        hashlib.sha256(f"{seed}:{text}".encode("utf-8", "surrogatepass")).digest() for text in texts
    ]
    places = np.empty(len(keys))
    by_label: dict[object, list[int]] = {}
    for i, label in enumerate(labels):
        by_label.setdefault(label, []).append(i)
    for rows in by_label.values():
        rows.sort(key=lambda i: keys[i])
        places[rows] = (np.arange(len(rows)) + 0.5) / len(rows)
    first: dict[bytes, float] = {}
    for key, place in zip(keys, places.tolist(), strict=True):
        first[key] = min(place, first.get(key, 1.0))
    return np.array([first[key] for key in keys])


def cut(
    texts: Sequence[str], labels: Sequence[object], fractions: Sequence[float], seed: int
) -> list[NDArray[np.int64]]:
    """Row numbers of the remainder, then of each share in `fractions`, each in source order."""
    places = stratified_order(texts, labels, seed)
    starts = np.cumsum([1 - sum(fractions), *fractions])[:-1]
    edges = np.concatenate([[0.0], starts])
    part = np.searchsorted(edges, places, side="right") - 1
    return [np.flatnonzero(part == p) for p in range(len(fractions) + 1)]
