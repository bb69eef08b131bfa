"""Tidy tables: one row per instance and measure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

Labels = Sequence[Mapping[str, str | int]]
_FEW = np.iinfo(np.int8).max
"""Labels that a byte can number."""


def tidy(
    ids: NDArray[np.int64],
    values: NDArray[np.float64],
    measures: Sequence[str],
    labels: Labels = ({},),
) -> pd.DataFrame:
    """A tidy table: `id`, the labels, `measure` and `value`, a row per document, label and measure.

    Args:
        ids: (documents,).
        values: (labels, documents, measures); NaN where a measure is not defined for a document,
            so that every table tells how many it leaves out.
        measures: their names.
        labels: what tells rows of one document apart.

    >>> tidy(np.array([7, 8]), np.array([[[2.0], [3.0]]]), ["size"], [{"by": "chance"}])
       id      by measure  value
    0   7  chance    size    2.0
    1   8  chance    size    3.0
    """
    groups, documents, count = values.shape
    each = documents * count
    frame = pd.DataFrame({"id": np.tile(np.repeat(ids, count), groups)})
    for name in labels[0]:
        each_value = [label[name] for label in labels]
        if isinstance(each_value[0], str):
            levels = list(dict.fromkeys(str(g) for g in each_value))
            numbers = np.array([levels.index(str(g)) for g in each_value], dtype=np.int16)
            small = numbers.astype(np.int8) if len(levels) <= _FEW else numbers
            frame[name] = pd.Categorical.from_codes(np.repeat(small, each), pd.Index(levels))
        else:
            frame[name] = np.repeat(np.array(each_value, dtype=np.int64), each)
    codes = np.tile(np.arange(count, dtype=np.int8), groups * documents)
    frame["measure"] = pd.Categorical.from_codes(codes, pd.Index(list(measures)))
    frame["value"] = values.ravel()
    return frame


class TableBuilder:
    """Gathers measures batch by batch, and gives tidy tables once all are in."""

    def __init__(self) -> None:
        self._kinds: dict[str, tuple[list[str], Labels]] = {}
        self._ids: dict[str, list[NDArray[np.int64]]] = {}
        self._values: dict[str, list[NDArray[np.float64]]] = {}

    def add(
        self,
        table: str,
        ids: NDArray[np.int64],
        measures: Mapping[str, Tensor],
        kept: Tensor | None = None,
        labels: Labels = ({},),
    ) -> None:
        """Add a batch of documents to a table.

        Args:
            table: its name.
            ids: (batch,) the documents' ids.
            measures: name → (labels, batch), or (batch,) where all labels share it.
            kept: (batch,) bool: the documents that belong into this table; all, unless given.
            labels: what tells rows of one document apart; the same for every batch.
        """
        kind = self._kinds.setdefault(table, (list(measures), labels))
        if kind != (list(measures), labels):
            raise ValueError(f"table {table!r} has other labels or measures in this batch")
        shape = (len(labels), len(ids))
        # one copy off the device for all of them
        values = torch.stack([m.double().expand(shape) for m in measures.values()], dim=-1)
        array = values.cpu().numpy()
        if kept is not None and not bool(kept.all()):  # most exams keep all: no copy of these
            chosen = kept.cpu().numpy()
            ids, array = ids[chosen], array[:, chosen]
        self._ids.setdefault(table, []).append(ids)
        self._values.setdefault(table, []).append(array)

    def mark(self) -> dict[str, int]:
        """How much is in each table now; for `back_to`."""
        return {name: len(parts) for name, parts in self._ids.items()}

    def back_to(self, mark: Mapping[str, int]) -> None:
        """Forget what was added after a mark."""
        for name in list(self._kinds):
            if name not in mark:
                del self._kinds[name], self._ids[name], self._values[name]
                continue
            del self._ids[name][mark[name] :], self._values[name][mark[name] :]

    def tables(self) -> dict[str, pd.DataFrame]:
        """Name → table, in order of the documents' ids."""
        tables = {}
        for name, (measures, labels) in self._kinds.items():
            ids = np.concatenate(self._ids[name])
            order = np.argsort(ids, kind="stable")
            values = np.concatenate(self._values[name], axis=1)[:, order]
            tables[name] = tidy(ids[order], values, measures, labels)
        return tables


def wide(table: pd.DataFrame, *labels: str) -> pd.DataFrame:
    """One row per document (and per label), one column per measure; in order of id."""
    if not labels and (whole := _reshaped(table)) is not None:
        return whole
    index = ["id", *labels]
    return table.set_index([*index, "measure"])["value"].unstack("measure").sort_index()


def _reshaped(table: pd.DataFrame) -> pd.DataFrame | None:
    """The wide table of one that `tidy` made, in a fifth of the time; None of any other."""
    measure = table["measure"]
    if not isinstance(measure.dtype, pd.CategoricalDtype) or table["value"].dtype != np.float64:
        return None
    names, codes = measure.cat.categories, measure.cat.codes.to_numpy()
    ids = table["id"].to_numpy()
    if not len(ids) or len(ids) % len(names) or ids.dtype != np.int64:
        return None
    rows = ids.reshape(-1, len(names))
    each_once = (codes.reshape(rows.shape) == np.arange(len(names))).all()
    if not each_once or (rows != rows[:, :1]).any() or (np.diff(rows[:, 0]) <= 0).any():
        return None
    return pd.DataFrame(
        table["value"].to_numpy(copy=True).reshape(rows.shape),
        index=pd.Index(rows[:, 0], name="id"),
        columns=pd.CategoricalIndex(names, dtype=measure.dtype, name="measure"),
    )


def measured(table: pd.DataFrame, measure: str) -> NDArray[np.float64]:
    """(labels, documents) of one measure, as a tidy table has them: by label, then by id."""
    values = table.loc[table["measure"] == measure, "value"].to_numpy(dtype=np.float64)
    return values.reshape(-1, table["id"].nunique())
