"""Summaries made up by hand, so that every sentence about them is known beforehand.

They are judged by the limits `2026-11`, which were set by hand and do not change: the tests of
rules were written for these. With `by=None` the default limits apply.
"""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

from support.internals import COLUMNS
from verax.exams import Verdict, load_limits
from verax.exams.authoring import Judged, ModelSummary, measure_id

Cell = tuple[str, str, str, str, float, float, float, str]


def cell(
    exam: str,
    table: str,
    row: str,
    column: str,
    value: float,
    low: float = math.nan,
    high: float = math.nan,
    unit: str = "number",
) -> Cell:
    return exam, table, row, column, value, low, high, unit


def summary(*cells: Cell, n: int = 100) -> pd.DataFrame:
    rows = [(*c[:4], measure_id(*c[1:4]), *c[4:7], n, c[7]) for c in cells]
    return pd.DataFrame(rows, columns=COLUMNS)


def manifest_of(by: str | None, **manifest: Any) -> dict[str, Any]:
    limits = {} if by is None or "limits" in manifest else {"limits": load_limits(by).to_json()}
    return {"classes": ["no", "yes"], "documents": 100, **manifest, **limits}


def model_of(
    *cells: Cell, name: str = "mine", n: int = 100, by: str | None = "2026-11", **manifest: Any
) -> ModelSummary:
    return ModelSummary(name, summary(*cells, n=n), manifest_of(by, **manifest))


def judged(*cells: Cell, n: int = 100, **manifest: Any) -> Judged:
    """The only row of the judgement of a summary of these cells."""
    (row,) = model_of(*cells, n=n, **manifest).judgement.rows
    return row


def verdict(*cells: Cell, by: str | None = "2026-11", **manifest: Any) -> Verdict:
    exams = list(dict.fromkeys(c[0] for c in cells))
    return Verdict({}, manifest_of(by, exams=exams, **manifest), summary(*cells))


def optimal(value: float, low: float, high: float) -> Cell:
    return cell("erasure", "erasure.excess", "attention", "optimal", value, low, high, "percent")


def part_optimal(value: float, low: float, high: float, row: str = "attention") -> Cell:
    """Of the documents that change before all is erased."""
    place = ("erasure", "erasure.excess", row, "optimal_in_part")
    return cell(*place, value, low, high, "percent")


def more_than_random(value: float, low: float, high: float) -> Cell:
    place = ("erasure", "erasure.excess", "attention", "beyond_random")
    return cell(*place, value, low, high, "points")


def survives(value: float, low: float, high: float) -> Cell:
    place = ("replacement", "replacement", "uniform", "survival")
    return cell(*place, value, low, high, "percent")


def tau(value: float, low: float, high: float) -> Cell:
    place = ("agreement", "agreement", "inputs:attention:leave-one-out", "tau")
    return cell(*place, value, low, high)


def token_alone(value: float, low: float, high: float) -> Cell:
    return cell("single_token", "single_token", "correct", "mean_probability", value, low, high)


def together(value: float, low: float, high: float, row: str = "correct") -> Cell:
    """The confidence of all tokens together, by the single_token exam."""
    return cell("single_token", "single_token", row, "confidence", value, low, high)


def another(
    cost: tuple[float, float, float],
    kept: tuple[float, float, float] | None = (97.0, 95.0, 98.0),
    confidence: tuple[float, float, float] | None = (0.9, 0.85, 0.95),
    row: str = "epsilon=0.05",
) -> list[Cell]:
    """What the adversary exam says: nats held back, decisions kept, how sure the model is."""
    place = ("adversary", "adversary", row)
    cells = [cell(*place, "jsd", 0.5, 0.4, 0.6), cell(*place, "constraint_cost", *cost)]
    if kept is not None:
        cells.append(cell(*place, "decisions_kept", *kept, "percent"))
    if confidence is not None:
        sure = ("adversary", "adversary.documents", "confidence", "value")
        cells.append(cell(*sure, *confidence))
    return cells


def right(value: float, low: float = math.nan, high: float = math.nan) -> Cell:
    """The accuracy of decisions."""
    place = ("erasure", "erasure.documents", "accuracy", "value")
    return cell(*place, value, low, high, "percent")
