"""The split of each document: the source's, cut off train by a hash of the text, or cut anew."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from verax.corpora.corpus import SPLITS
from verax.corpora.options import CorpusOptions
from verax.errors import VeraxError

ALIASES = {s: s for s in SPLITS} | dict.fromkeys(("valid", "val", "dev"), "validation")
"""Names that files, columns and hub datasets have for a split."""


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


def by_split_column(
    tables: Mapping[str, pd.DataFrame], notes: list[str]
) -> dict[str, pd.DataFrame]:
    """One table as several, by its column `split` where that names train, validation and test."""
    table = tables.get("train")
    if len(tables) > 1 or table is None or "split" not in table.columns:
        return dict(tables)
    names = table["split"].map(lambda value: ALIASES.get(str(value).strip().lower()))
    if names.isna().any():
        other = table["split"][names.isna()].iloc[0]
        notes.append(f"column 'split' not used: {other!r} is not train, validation or test")
        return dict(tables)
    notes.append("splits are those of column 'split'")
    # ids are rows of the whole table, unless a column has them
    numbered = table if "id" in table.columns else table.assign(id=np.arange(len(table)))
    return {s: numbered[names == s].reset_index(drop=True) for s in SPLITS if (names == s).any()}


def with_missing_splits(
    frames: Mapping[str, pd.DataFrame], options: CorpusOptions, notes: list[str]
) -> dict[str, pd.DataFrame]:
    """All three splits; missing ones are cut off train."""
    wanted = {"validation": options.validation_fraction, "test": options.test_fraction}
    missing = {s: f for s, f in wanted.items() if s not in frames}
    train = frames["train"]
    if not missing:
        return dict(frames)
    if sum(missing.values()) >= 1:
        raise VeraxError(
            "validation_fraction and test_fraction leave nothing to train on",
            code="option.conflict",
        )
    texts, labels = train["text"].tolist(), train["label"].tolist()
    rest, *parts = cut(texts, labels, list(missing.values()), options.split_seed)
    notes.append(f"{' and '.join(missing)} cut off train, stratified by label")
    rows = {"train": rest, **dict(zip(missing, parts, strict=True))}
    cut_off = {s: train.iloc[r].reset_index(drop=True) for s, r in rows.items()}
    return {s: cut_off.get(s, frames.get(s, train)) for s in SPLITS}
