"""What a sweep is made of: the values of single documents of a verdict."""

from __future__ import annotations

import pandas as pd

from verax.errors import VeraxError
from verax.exams.dispersion.measures import DOCUMENT_COUNTS
from verax.exams.document_values import DECISIONS
from verax.exams.measures import VALUE, measure_id
from verax.exams.verdict import Verdict

ACCURACY = measure_id(DECISIONS.id, "accuracy", VALUE)
SUPPORT, SUPPORT_SHARE = (
    measure_id(DOCUMENT_COUNTS.id, name, VALUE) for name in ("support", "support_share")
)
"""Ids of what every sweep shows beside what moves."""
SWEPT = ("dispersion", "agreement")
"""Exams of which at least one is needed: the others ask nothing that moves with sparsity."""


def measures_of(verdict: Verdict) -> pd.DataFrame:
    """id, measure, value, reason of a verdict that a sweep can be made of."""
    exams = verdict.manifest.get("exams", [])
    if not set(exams) & set(SWEPT):
        raise VeraxError(
            f"a verdict of these exams ({', '.join(exams) or 'none'}) has nothing to sweep: "
            f"take {' or '.join(SWEPT)}"
        )
    return verdict.document_values()
