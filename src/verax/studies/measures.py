"""What a sweep is made of: the values of single documents of a verdict."""

from __future__ import annotations

import pandas as pd

from verax.errors import VeraxError
from verax.exams.verdict import Verdict

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
