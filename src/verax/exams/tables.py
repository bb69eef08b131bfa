"""Tidy tables: one row per instance and measure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

Values = Tensor | NDArray[Any] | Sequence[float]


def tidy(ids: NDArray[np.int64], measures: Mapping[str, Values], **labels: Any) -> pd.DataFrame:
    """`id`, the given labels, `measure` and `value`: all measures of a document together.

    `measures` maps a name to one number per document. Whatever is not defined for a document is
    NaN there, so that every table tells how many it leaves out.

    >>> tidy(np.array([7, 8]), {"size": [2.0, 3.0]}, ranking="attention").values.tolist()
    [[7, 'attention', 'size', 2.0], [8, 'attention', 'size', 3.0]]
    """
    names = list(measures)
    columns = [as_numpy(v).astype(np.float64) for v in measures.values()]
    values = np.stack(columns, axis=-1) if columns else np.zeros((len(ids), 0))
    frame = pd.DataFrame({"id": np.repeat(ids, len(names))})
    for name, label in labels.items():
        if isinstance(label, str):
            frame[name] = pd.Categorical.from_codes(
                np.zeros(len(frame), np.int8), pd.Index([label])
            )
        else:
            frame[name] = label
    codes = np.tile(np.arange(len(names), dtype=np.int8), len(ids))
    frame["measure"] = pd.Categorical.from_codes(codes, pd.Index(names))
    frame["value"] = values.ravel()
    return frame


class Ledger:
    """Gathers measures batch by batch, and gives tidy tables once all are in."""

    def __init__(self) -> None:
        self._ids: dict[_Key, list[NDArray[np.int64]]] = {}
        self._values: dict[_Key, list[NDArray[np.float64]]] = {}
        self._names: dict[_Key, list[str]] = {}

    def add(
        self, table: str, ids: NDArray[np.int64], measures: Mapping[str, Tensor], **labels: Any
    ) -> None:
        """One number per document and measure; the same measures for the same labels each time."""
        key = (table, tuple(labels.items()))
        self._names.setdefault(key, list(measures))
        # one copy off the device for all of them
        values = torch.stack([m.double() for m in measures.values()], dim=-1).cpu().numpy()
        self._ids.setdefault(key, []).append(ids)
        self._values.setdefault(key, []).append(values)

    def tables(self) -> dict[str, pd.DataFrame]:
        """Name → table, in order of the documents' ids."""
        frames: dict[str, list[pd.DataFrame]] = {}
        for key, pieces in self._ids.items():
            ids = np.concatenate(pieces)
            order = np.argsort(ids, kind="stable")
            values = np.concatenate(self._values[key])[order]
            measures = dict(zip(self._names[key], values.T, strict=True))
            frames.setdefault(key[0], []).append(tidy(ids[order], measures, **dict(key[1])))
        return {name: join(of_one_kind) for name, of_one_kind in frames.items()}


_Key = tuple[str, tuple[tuple[str, Any], ...]]


def join(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Tables of one kind under each other, their labels still categories."""
    if not frames:
        return pd.DataFrame()
    for name in frames[0].columns:
        if isinstance(frames[0][name].dtype, pd.CategoricalDtype):
            levels = list(dict.fromkeys(c for f in frames for c in f[name].cat.categories))
            kind = pd.CategoricalDtype(levels)
            frames = [f.assign(**{name: f[name].astype(kind)}) for f in frames]
    return pd.concat(frames, ignore_index=True)


def wide(table: pd.DataFrame, *labels: str) -> pd.DataFrame:
    """One row per document (and per label), one column per measure; in order of id."""
    index = ["id", *labels]
    return table.set_index([*index, "measure"])["value"].unstack("measure").sort_index()


def as_numpy(values: Values) -> NDArray[Any]:
    if isinstance(values, torch.Tensor):
        return values.detach().cpu().numpy()
    return np.asarray(values)
