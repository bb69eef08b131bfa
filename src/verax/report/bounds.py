"""How far a number of a summary can go: an interval over seeds knows nothing of that."""

from __future__ import annotations

import math

import pandas as pd

_UNITS = {"percent": (0.0, 100.0), "points": (-100.0, 100.0), "count": (0.0, math.inf)}
_SPREAD = ("sd", "pooled sd")
_SHARES = ("fraction", "mass", "entropy", "single_token")
_RANKS = ("agreement", "agreement_on_support")
_NO_LESS = ("excess", "information", "word_vectors")
_MOST = math.log(2)
"""Of a Jensen–Shannon divergence, in nats."""


def bounds(table: str, column: str, unit: str) -> tuple[float, float]:
    """The least and the most that a number can be, by its unit or by what it measures.

    >>> bounds("agreement", "τ-b", "number"), bounds("replacement", "accuracy", "percent")
    ((-1.0, 1.0), (0.0, 100.0))
    """
    if unit in _UNITS:
        return _UNITS[unit]
    if column in _SPREAD or table in _NO_LESS or table.endswith("documents"):
        return 0.0, math.inf
    if table in _SHARES or "TVD" in column or "Δp" in column or "Δα" in column or "Δŷ" in column:
        return 0.0, 1.0
    if table in _RANKS:
        return -1.0, 1.0
    if table.startswith("delta_js"):
        return -_MOST, _MOST
    if table.startswith("adversar") and table != "adversaries_chosen":
        return 0.0, _MOST
    return -math.inf, math.inf


def cut(summary: pd.DataFrame) -> pd.DataFrame:
    """The summary with every interval inside what its number can be, and around the number.

    A column `cut` says whose was not.
    """
    names = ("table", "column", "unit")
    ends = [bounds(*map(str, row)) for row in zip(*(summary[name] for name in names), strict=True)]
    edges = pd.DataFrame(ends, columns=["least", "most"], index=summary.index)
    # rounding may put a number itself a hair beyond
    low = summary["low"].clip(lower=edges["least"]).where(summary["low"].notna())
    high = summary["high"].clip(upper=edges["most"]).where(summary["high"].notna())
    found = summary.assign(low=low, high=high)
    found["low"] = found[["low", "value"]].min(axis=1).where(summary["low"].notna())
    found["high"] = found[["high", "value"]].max(axis=1).where(summary["high"].notna())
    moved = (found["low"] > summary["low"] + _HAIR) | (found["high"] < summary["high"] - _HAIR)
    return found.assign(cut=moved)


_HAIR = 1e-9
