"""What the adversary exam says of each document."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from verax.exams.adversary.measures import ADVERSARY, ALL, GROUPS, epsilon_row
from verax.exams.values import Tables, column, number, part


def values(tables: Tables) -> Iterator[pd.DataFrame]:
    """Divergence and what keeping the output costs of it, for every ε; change under permutation.

    A document of one item has no other attention, and says nothing of a model.
    """
    instances = tables["adversary_instances"]
    several = column(instances, "items") > 1
    one = np.full(len(several), "one item", dtype=object)
    best = tables["adversary"][tables["adversary"]["by"] == "best"]
    farthest, own = column(instances, "farthest"), {}
    for written, rows in best.groupby("epsilon", sort=False, observed=True):
        epsilon = float(str(written))
        if epsilon < 1:  # beyond that it is the least weight's, whatever is said
            row = epsilon_row(epsilon)
            jsd = column(rows, "jsd")
            own[number(ADVERSARY, row, "jsd")] = jsd
            own[number(ADVERSARY, row, "constraint_cost")] = farthest - jsd
    own[number(GROUPS, ALL, "permuted_change")] = column(instances, "permuted")
    for id, series in own.items():
        kept = series.where(several.reindex(series.index))
        yield part(pd.Series(series.index), id, kept, one)
