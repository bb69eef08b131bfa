"""What agreement says of each document."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from verax.exams.agreement.measures import AGREEMENT, ON_SUPPORT, pair
from verax.exams.agreement.ranks import REASONS
from verax.exams.values import Tables, coded_part, number


def values(tables: Tables) -> Iterator[pd.DataFrame]:
    """Kendall's τ-b of every pair, over all items and among those with weight."""
    labels = ["on", "first", "second", "over"]
    for key, table in tables["agreement"].groupby(labels, sort=False, observed=True):
        on, first, second, over = map(str, key)
        where = AGREEMENT if over == "all" else ON_SUPPORT
        yield coded_part(table, number(where, pair(on, first, second), "tau"), "kendall", REASONS)
