"""What erasure gives each document, for comparisons."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from verax.exams.erasure.measures import DELTA_JS, EXCESS, FRACTION, OPTIMUM
from verax.exams.erasure.summary import EVEN
from verax.exams.judgement.row import ATTENTION
from verax.exams.values import Tables, column, part


def document_values(tables: Tables) -> Iterator[pd.DataFrame]:
    """Fractions, excess, whether attention is optimal, and ΔJS, of the ranking by attention.

    Documents of one item have a row in `erasure_instances` alone.
    """
    examined = column(tables["erasure_instances"], "examined")
    ids = examined.index
    by_attention: dict[str, Any] = {"ranking": ATTENTION, "draw": 0}
    many = {
        name: column(tables["erasure_many"], name, **by_attention).reindex(ids)
        for name in ("fraction", "mass", "excess")
    }
    single = column(tables["erasure_single"], "delta_js", top=ATTENTION, rule="paper")
    least = column(tables["erasure_minimal"], "fraction").reindex(ids)
    # one that attention never flips, though something does, is not optimal
    optimal = (many["excess"] == 0).astype(float).where(least.notna())
    enough = column(tables["erasure_minimal"], "everything").reindex(ids) != 1
    even = many["mass"] - many["fraction"] <= EVEN
    in_part = optimal.mask(even & (optimal == 1), 0.0).where(enough)
    never, nothing = "attention never flips it", "no erasure flips it"
    whole = np.where(least.notna() & ~enough, "flips only when all weight is erased", nothing)
    for id, series, why in (
        (FRACTION.id_of(ATTENTION, "mean"), many["fraction"], never),
        (FRACTION.id_of(OPTIMUM, "mean"), least, nothing),
        (EXCESS.id_of(ATTENTION, "mean"), many["excess"], never),
        (EXCESS.id_of(ATTENTION, "optimal"), optimal, nothing),
        (EXCESS.id_of(ATTENTION, "optimal_in_part"), in_part, whole),
        (DELTA_JS.id_of(ATTENTION, "mean"), single.reindex(ids), "not a number"),
    ):
        reasons = np.where(examined == 0, "one item", why).astype(object)
        yield part(pd.Series(ids), id, series, reasons)
