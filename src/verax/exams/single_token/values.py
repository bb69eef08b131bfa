"""What single tokens say of each document."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from verax.exams.single_token.measures import CORRECT, SINGLE_TOKEN
from verax.exams.tables import wide
from verax.exams.values import NO_LABEL, Tables, column, estimate_part, number, part
from verax.statistics import ratio

_COLUMNS = {"alone": "mean_probability", "agreeing": "agreeing", "confidence": "confidence"}
"""Measure of the tidy table → column of the summary."""


def values(tables: Tables) -> Iterator[pd.DataFrame]:
    """Of correct decisions, as the paper has it: being sure of a wrong one is another matter."""
    table = tables["single_token"]
    correct = column(table, "correct")
    reasons = np.where(correct.isna(), NO_LABEL, "wrong decision").astype(object)
    for name, shown in _COLUMNS.items():
        own = column(table, name).where(correct == 1)
        yield part(pd.Series(own.index), number(SINGLE_TOKEN, CORRECT, shown), own, reasons)
    frame = wide(table)
    right = (frame["correct"] == 1).to_numpy(dtype=np.float64)
    weights = right * frame["items"].to_numpy(dtype=np.float64)
    # documents that do not count weigh nothing: that there are so many is chance as well
    pooled = ratio(weights * frame["alone"].to_numpy(dtype=np.float64), weights)
    id = number(SINGLE_TOKEN, CORRECT, "pooled_probability")
    yield estimate_part(table, id, pooled, "no correct one")
