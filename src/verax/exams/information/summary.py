"""What the information exam found, as a table."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import pandas as pd

from verax.exams.cells import Cell, row_cells
from verax.exams.information.measures import INFORMATION, LAYERS, WORD_VECTORS, layer_row
from verax.exams.values import Tables
from verax.exams.verdict import summary_frame
from verax.statistics import Interval

_NUMBERS = {
    "information": "information",
    "word_entropy": "ceiling",
    "shuffled": "shuffled",
    "above_shuffled": "difference",
    "retained": "kept",
    "words": "types",
    "occurrences": "occurrences",
    "clusters": "clusters",
}
_LENGTHS = {"norm_embedding": "norm_e", "norm_state": "norm_h", "distance": "distance"}
"""Column of the summary → measure of the tidy table."""


def summarise(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Information in nats with its ceiling and its bias; how far states are from their words.

    One model's clusters give one number: its spread is over seeds, so there are no intervals.
    """
    rows: list[Cell] = []
    for row, values in _values(tables):
        n = int(values["occurrences"])
        for table, columns in ((INFORMATION, _NUMBERS), (WORD_VECTORS, _LENGTHS)):
            # without an occurrence there are no clusters
            numbers = {column: values.get(name, 0.0) for column, name in columns.items()}
            rows += row_cells(table, row, n, numbers)
    if "information_layers" in tables:
        rows += [*_layer_cells(tables["information_layers"])]
    return summary_frame("information", rows)


def _layer_cells(table: pd.DataFrame) -> Iterator[Cell]:
    """Information by layer, with its interval over documents."""
    for (words, layer), part in table.groupby(["words", "layer"], sort=False, observed=True):
        values = dict(zip(part["measure"], part["value"].astype(float), strict=True))
        numbers: dict[str, Interval | float] = {
            column: values[_NUMBERS[column]] for column in (m.id for m in LAYERS.measures)
        }
        ends = values.get("low", math.nan), values.get("high", math.nan)
        numbers["information"] = (values["information"], *ends)
        row = layer_row(int(str(layer)), str(words))
        yield from row_cells(LAYERS, row, int(values["occurrences"]), numbers)


def _values(tables: Tables) -> Iterator[tuple[str, dict[str, float]]]:
    """Kind of words → measure → value."""
    for words, part in tables["information"].groupby("words", sort=False, observed=True):
        yield str(words), dict(zip(part["measure"], part["value"].astype(float), strict=True))


def split_values(tables: Tables) -> dict[str, float]:
    """Information in nats, what of it is no chance, the share kept, and how far states moved."""
    numbers: dict[str, float] = {}
    for row, values in _values(tables):
        numbers[INFORMATION.id_of(row, "information")] = values["information"]
        numbers[INFORMATION.id_of(row, "above_shuffled")] = values["difference"]
        numbers[INFORMATION.id_of(row, "retained")] = values["kept"]
        numbers[WORD_VECTORS.id_of(row, "distance")] = values["distance"]
    return numbers
