"""Values of single documents, by the id of the number that is their mean over documents.

A part is a frame with `id`, `measure`, `value` and, where there is no value, the `reason`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from verax.errors import VeraxError
from verax.statistics import RatioEstimate

ESTIMATE = "verax.estimate"
"""The attribute of a frame whose values are a number plus influences on it."""
COLUMNS = ["id", "measure", "value", "reason"]
NO_LABEL = "no label"
Tables = Mapping[str, pd.DataFrame]


def part(
    ids: pd.Series, measure: str, values: pd.Series, reasons: NDArray[np.object_] | None = None
) -> pd.DataFrame:
    """A frame of one measure's values, a row per document.

    Args:
        ids: the documents' ids.
        measure: the id of the number that is their mean.
        values: (documents,), NaN where a document has none.
        reasons: (documents,), why; read where there is no value.
    """
    why = np.array([None] * len(ids), dtype=object)
    if reasons is not None:
        missing = values.isna().to_numpy()
        why[missing] = reasons[missing]
    columns = {"id": ids.to_numpy(), "measure": measure, "value": values.to_numpy(), "reason": why}
    return pd.DataFrame(columns)


def coded_part(table: pd.DataFrame, id: str, measure: str, reasons: Sequence[str]) -> pd.DataFrame:
    """A frame as `part` makes it, from a tidy table with a reason's code beside each value."""
    # column by column: rows of a whole table take far longer
    rows, coded = ((table["measure"] == name).to_numpy() for name in (measure, "reason"))
    values = table["value"].to_numpy()[coded]
    if not np.isin(values, np.arange(len(reasons))).all() or coded.sum() != rows.sum():
        raise VeraxError(
            f"{id}: a reason is none of {len(reasons)} that there are, so that its table was "
            "changed: examine the model again",
            code="result.damaged",
        )
    words = np.array(["", *reasons[1:]], dtype=object)[values.astype(np.int64)]
    return part(table["id"][rows], id, table["value"][rows], words)


def estimate_part(
    table: pd.DataFrame, measure: str, estimate: RatioEstimate, reason: str = NO_LABEL
) -> pd.DataFrame:
    """A number that is no mean: for each document the number plus the document's influence on it.

    Influences average to zero, so that the mean over documents is the number, and Student's
    interval of that mean, or of a paired difference, is the number's by the delta method.
    """
    ids = np.unique(table["id"].to_numpy())
    why = [reason if math.isnan(estimate.value) else None] * len(ids)
    values = estimate.value + estimate.influence
    frame = pd.DataFrame({"id": ids, "measure": measure, "value": values, "reason": why})
    frame.attrs[ESTIMATE] = True
    return frame


def column(table: pd.DataFrame, measure: str, **labels: Any) -> pd.Series:
    """One measure of a tidy table, by document id.

    Args:
        table: a tidy table.
        measure: its name there.
        labels: label → value of the rows to take.
    """
    chosen = (table["measure"] == measure).to_numpy()
    for name, label in labels.items():
        chosen = chosen & (table[name] == label).to_numpy()
    ids = pd.Index(table["id"].to_numpy()[chosen], name="id")
    return pd.Series(table["value"].to_numpy()[chosen], ids, name="value")


def joined(parts: Iterator[pd.DataFrame] | Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Parts as one frame; without a row where there is none."""
    filled = [one for one in parts if len(one)]
    if not filled:
        return pd.DataFrame(columns=COLUMNS)
    return pd.concat(filled, ignore_index=True)[COLUMNS]
