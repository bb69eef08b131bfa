"""What dispersion says of each document."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from verax.exams.dispersion.measures import ENTROPY, REASONS, influence
from verax.exams.values import Tables, coded_part, number


def values(tables: Tables) -> Iterator[pd.DataFrame]:
    """Entropies of attention, of importances of inputs, and of influence on items."""
    for name, table in tables["dispersion"].groupby("of", sort=False, observed=True):
        yield coded_part(table, number(ENTROPY, str(name), "mean"), "entropy", REASONS)
    if "dispersion_influence" in tables:
        for kind, table in tables["dispersion_influence"].groupby("kind", observed=True):
            row = influence(str(kind))
            yield coded_part(table, number(ENTROPY, row, "mean"), "entropy", REASONS)
