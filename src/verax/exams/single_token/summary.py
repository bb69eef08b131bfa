"""Means of the single_token exam, over its tidy table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pandas as pd

from verax.exams.cells import Cell, count_cell, number_cell, percent_cell
from verax.exams.single_token.measures import ALL, CORRECT, SINGLE_TOKEN, WRONG
from verax.exams.tables import wide
from verax.exams.verdict import summary_frame
from verax.statistics import mean, mean_share, ratio


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
    n = len(part)
    values = {name: part[name].to_numpy() for name in part.columns}
    yield number_cell(SINGLE_TOKEN.id, row, "mean_probability", mean(values["alone"]), n)
    sd = float(values["alone"].std(ddof=1)) if n > 1 else float("nan")
    yield number_cell(SINGLE_TOKEN.id, row, "sd", (sd, float("nan"), float("nan")), n)
    pooled = ratio(values["alone"] * values["items"], values["items"])
    yield number_cell(SINGLE_TOKEN.id, row, "pooled_probability", pooled.interval, n)
    yield number_cell(SINGLE_TOKEN.id, row, "confidence", mean(values["confidence"]), n)
    yield percent_cell(SINGLE_TOKEN.id, row, "agreeing", mean_share(values["agreeing"]), n)
    yield number_cell(SINGLE_TOKEN.id, row, "least", mean(values["least"]), n)
    yield number_cell(SINGLE_TOKEN.id, row, "most", mean(values["most"]), n)
    yield count_cell(SINGLE_TOKEN.id, row, "documents", n, n)
