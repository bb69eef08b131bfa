"""One kind of model beside another, document by document and seed by seed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from verax.audits.answers import UNIFORM, fewer
from verax.audits.estimating import POINTS, Estimate, estimate, over_models
from verax.audits.results import AuditResults

ACCURACY, NOTICED, ATTENTION, KEPT = "accuracy", "uniform", "attention", "information"
TITLES = {
    ACCURACY: "accuracy, points",
    NOTICED: "decisions that stay under uniform attention, points",
    ATTENTION: "words fewer than random order by attention, points",
    KEPT: "what the last states tell of their word, points",
}
"""What is compared, in words."""


@dataclass(frozen=True, eq=False)
class Contrast:
    """The first kind of model minus the second.

    what  → the difference with its interval; what cannot be compared is missing
    """

    first: str
    second: str
    differences: dict[str, Estimate]


def contrast(results: AuditResults, first: str, second: str) -> Contrast | None:
    """The differences between two kinds of model; None where one of them is missing."""
    pairs = _pairs(results, first, second)
    if not pairs:
        return None
    differences = {
        ACCURACY: estimate(
            [100 * _apart(results, a, b, "decisions.accuracy") for a, b in pairs], POINTS
        ),
        NOTICED: estimate([100 * _apart(results, a, b, UNIFORM) for a, b in pairs], POINTS),
        ATTENTION: estimate([_fewer_apart(results, a, b) for a, b in pairs], (-200.0, 200.0)),
        KEPT: over_models(_kept_apart(results, pairs), POINTS),
    }
    return Contrast(first, second, {w: d for w, d in differences.items() if d is not None})


def _pairs(results: AuditResults, first: str, second: str) -> list[tuple[str, str]]:
    """Models of the same seed."""
    others = {results.facts[m]["seed"]: m for m in results.models(second)}
    return [
        (model, others[results.facts[model]["seed"]])
        for model in results.models(first)
        if results.facts[model]["seed"] in others
    ]


def _apart(results: AuditResults, a: str, b: str, measure: str) -> np.ndarray:
    one, two = results.documents(a), results.documents(b)
    if measure not in one or measure not in two:
        return np.array([np.nan])
    return (one[measure] - two[measure]).to_numpy(dtype=np.float64)


def _fewer_apart(results: AuditResults, a: str, b: str) -> np.ndarray:
    one, two = fewer(results, a, "attention"), fewer(results, b, "attention")
    if one is None or two is None:
        return np.array([np.nan])
    return (one - two).to_numpy(dtype=np.float64)


def _kept_apart(
    results: AuditResults, pairs: list[tuple[str, str]]
) -> list[tuple[float, float, float]]:
    """Differences of what the last states tell; one model alone has no interval."""
    id = "information.frequent.retained"
    differences = []
    for a, b in pairs:
        one, two = results.number(a, id), results.number(b, id)
        if one is not None and two is not None:
            differences.append((one[0] - two[0], np.nan, np.nan))
    return differences


def spans_by_score(spans: pd.DataFrame) -> dict[str, dict[str, Estimate]]:
    """Score → auprc, top and share, each with its interval over texts."""
    return {
        str(name): {
            column: one
            for column in ("auprc", "top", "share")
            if (one := estimate([part[column]])) is not None
        }
        for name, part in spans.groupby(spans["score"].astype(str), sort=False)
    }
