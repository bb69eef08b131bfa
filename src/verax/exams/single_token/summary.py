"""Means of the single_token exam, over its tidy table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd

from verax.exams.cells import Cell, row_cells, sd
from verax.exams.single_token.measures import ALL, CORRECT, SINGLE_TOKEN, WRONG
from verax.exams.tables import wide
from verax.exams.values import NO_LABEL, Tables, column, estimate_part, part
from verax.exams.verdict import summary_frame
from verax.statistics import Interval, mean, mean_share, ratio


def summarise(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Per-token probability by document and pooled, beside the model's own confidence."""
    frame = wide(tables["single_token"])
    parts = {ALL: frame}
    if frame["correct"].notna().any():
        parts = {
            CORRECT: frame[frame["correct"] == 1],
            WRONG: frame[frame["correct"] == 0],
            **parts,
        }
    rows = [cell for row, part in parts.items() for cell in _cells(row, part)]
    return summary_frame("single_token", rows)


def _cells(row: str, part: pd.DataFrame) -> Iterator[Cell]:
    values = {name: part[name].to_numpy() for name in part.columns}
    numbers: dict[str, Interval | float] = {
        "mean_probability": mean(values["alone"]),
        "sd": sd(values["alone"]),
        "pooled_probability": ratio(values["alone"] * values["items"], values["items"]).interval,
        "confidence": mean(values["confidence"]),
        "agreeing": mean_share(values["agreeing"]),
        "least": mean(values["least"]),
        "most": mean(values["most"]),
        "documents": len(part),
    }
    return row_cells(SINGLE_TOKEN, row, len(part), numbers)


_COLUMNS = {"alone": "mean_probability", "agreeing": "agreeing", "confidence": "confidence"}
"""Measure of the tidy table → column of the summary."""


def document_values(tables: Tables) -> Iterator[pd.DataFrame]:
    """Of correct decisions, as the paper has it: being sure of a wrong one is another matter."""
    table = tables["single_token"]
    correct = column(table, "correct")
    reasons = np.where(correct.isna(), NO_LABEL, "wrong decision").astype(object)
    for name, shown in _COLUMNS.items():
        series = column(table, name).where(correct == 1)
        yield part(pd.Series(series.index), SINGLE_TOKEN.id_of(CORRECT, shown), series, reasons)
    frame = wide(table)
    right = (frame["correct"] == 1).to_numpy(dtype=np.float64)
    weights = right * frame["items"].to_numpy(dtype=np.float64)
    # documents that do not count weigh nothing: that there are so many is chance as well
    pooled = ratio(weights * frame["alone"].to_numpy(dtype=np.float64), weights)
    id = SINGLE_TOKEN.id_of(CORRECT, "pooled_probability")
    yield estimate_part(table, id, pooled, "no correct one")
