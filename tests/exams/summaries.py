"""A table of a summary by its ids, for tests of numbers."""

from __future__ import annotations

import pandas as pd

import verax


def numbers(verdict: verax.Verdict, table: str) -> pd.DataFrame:
    """Row ids by column ids, both in the summary's order; the table by its whole id."""
    summary = verdict.summary()
    own = summary[summary["table"] == table]
    assert len(own), f"no table {table} among {sorted(set(summary['table']))}"
    found = own.pivot(index="row", columns="column", values="value")
    return found.loc[list(dict.fromkeys(own["row"])), list(dict.fromkeys(own["column"]))]
