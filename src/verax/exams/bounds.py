"""How far a number of a summary can go: an interval over seeds knows nothing of that."""

from __future__ import annotations

import pandas as pd

from verax.exams.measures import ANY
from verax.exams.registry import find_place

_HAIR = 1e-9


def bounds(measure: str) -> tuple[float, float]:
    """The least and the most that the number with this id can be.

    >>> bounds("agreement.inputs:attention:gradient.tau"), bounds("replacement.uniform.accuracy")
    ((-1.0, 1.0), (0.0, 100.0))
    """
    place = find_place(measure)
    return ANY if place is None else place.measure.range


def cut(summary: pd.DataFrame) -> pd.DataFrame:
    """The summary with every interval inside what its number can be, and around the number.

    A column `cut` says whose was not.
    """
    known = {measure: bounds(str(measure)) for measure in summary["measure"].unique()}
    ends = [known[measure] for measure in summary["measure"]]
    edges = pd.DataFrame(ends, columns=["least", "most"], index=summary.index)
    # rounding may put a number itself a hair beyond
    low = summary["low"].clip(lower=edges["least"]).where(summary["low"].notna())
    high = summary["high"].clip(upper=edges["most"]).where(summary["high"].notna())
    inside = summary.assign(low=low, high=high)
    inside["low"] = inside[["low", "value"]].min(axis=1).where(summary["low"].notna())
    inside["high"] = inside[["high", "value"]].max(axis=1).where(summary["high"].notna())
    moved = (inside["low"] > summary["low"] + _HAIR) | (inside["high"] < summary["high"] - _HAIR)
    return inside.assign(cut=moved)
