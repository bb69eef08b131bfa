"""A verdict as a flat dictionary of floats, for any experiment tracker."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

import pandas as pd

from verax.exams.judgement.judgement import Judgement
from verax.exams.judgement.number import Number
from verax.exams.judgement.row import AGAINST, FOR, OPEN, WITHHELD, Judged
from verax.exams.judgement.subjects import are_several

SAYS = {FOR: 1.0, OPEN: 0.0, AGAINST: -1.0}
"""What an exam says, as a number."""
_OTHER = re.compile(r"[^\w./-]")


def key(*parts: str) -> str:
    """Parts with points between them, of letters, digits and _ . / - alone, as trackers take them.

    >>> key("adversary.epsilon=0.05.constraint_cost"), key("agreement.inputs:attention:x", "low")
    ('adversary.epsilon_0.05.constraint_cost', 'agreement.inputs_attention_x.low')
    """
    return _OTHER.sub("_", ".".join(parts))


def metrics(
    judgement: Judgement, summary: pd.DataFrame | None = None, prefix: str = ""
) -> dict[str, float]:
    """Name → number, in an order that stays; numbers that are not there are left out.

    Args:
        judgement: of a verdict.
        summary: its summary, where every number is wanted and not only those that are judged.
        prefix: stands before each name.
    """
    values: dict[str, float] = {}
    for name, value in _pairs(judgement, summary):
        if math.isfinite(value):
            values.setdefault(f"{prefix}{name}", float(value))
    return values


def _pairs(judgement: Judgement, summary: pd.DataFrame | None) -> Iterator[tuple[str, float]]:
    for verdict in (FOR, AGAINST, OPEN):
        yield key("exams", verdict), float(len(judgement.speaks(verdict)))
    yield "withheld", float(bool(judgement.withheld))
    yield "learnt", float(not judgement.unlearned)
    if judgement.accuracy is not None:
        yield from _number("accuracy", judgement.accuracy)
    several = are_several(judgement.rows)
    for row in judgement.judged:
        if row.verdict == WITHHELD:
            continue
        yield key("says", *_name(row, several)), SAYS[row.verdict]
    for row in judgement.judged:
        yield from _number(row.measure, row.number)
    rows = [] if summary is None else summary.to_dict("records")
    for one in rows:
        number = Number(float(one["value"]), float(one["low"]), float(one["high"]))
        yield from _number(str(one["measure"]), number)


def _name(row: Judged, several: bool) -> list[str]:
    return [row.exam, row.subject] if several else [row.exam]


def _number(name: str, number: Number) -> Iterator[tuple[str, float]]:
    yield key(name), number.value
    yield key(name, "low"), number.low
    yield key(name, "high"), number.high
