"""What the information exam found, as a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from verax.exams.cells import Cell, count_cell, number_cell, percent_cell
from verax.exams.information.measures import INFORMATION, WORD_VECTORS
from verax.exams.values import Tables
from verax.exams.verdict import summary_frame
from verax.statistics import Interval

_NUMBERS = {
    "information": "information",
    "word_entropy": "ceiling",
    "shuffled": "shuffled",
    "above_shuffled": "difference",
}
_COUNTS = {"words": "types", "occurrences": "occurrences", "clusters": "clusters"}
_LENGTHS = {"norm_embedding": "norm_e", "norm_state": "norm_h", "distance": "distance"}
"""Column of the summary → measure of the tidy table."""


def summarise(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Information in nats with its ceiling and its bias; how far states are from their words.

    One model's clusters give one number: its spread is over seeds, so there are no intervals.
    """
    rows: list[Cell] = []
    table = INFORMATION.id
    for kind, part in tables["information"].groupby("words", sort=False, observed=True):
        values = part.set_index("measure")["value"].astype(float).to_dict()
        row, n = str(kind), int(values["occurrences"])
        for column, name in _NUMBERS.items():
            rows.append(number_cell(table, row, column, _alone(values, name), n))
        rows.append(percent_cell(table, row, "retained", _alone(values, "kept"), n))
        for column, name in _COUNTS.items():
            rows.append(count_cell(table, row, column, int(values.get(name, 0)), n))
        for column, name in _LENGTHS.items():
            rows.append(number_cell(WORD_VECTORS.id, row, column, _alone(values, name), n))
    return summary_frame("information", rows)


def _alone(values: Mapping[Any, float], name: str) -> Interval:
    return values[name], float("nan"), float("nan")


def split_values(tables: Tables) -> dict[str, float]:
    """Information in nats, what of it is no chance, the share kept, and how far states moved."""
    numbers: dict[str, float] = {}
    for words, part in tables["information"].groupby("words", sort=False, observed=True):
        values = part.set_index("measure")["value"].astype(float).to_dict()
        row = str(words)
        numbers[INFORMATION.id_of(row, "information")] = values["information"]
        numbers[INFORMATION.id_of(row, "above_shuffled")] = values["difference"]
        numbers[INFORMATION.id_of(row, "retained")] = values["kept"]
        numbers[WORD_VECTORS.id_of(row, "distance")] = values["distance"]
    return numbers
