"""A model as a report sees it: its name, and every number of its exams with an interval."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pandas as pd

from verax.exams.verdict import Verdict

DOCUMENTS, SEEDS = "documents", "seeds"
"""What intervals are over."""


@dataclass(frozen=True)
class Number:
    """A number of a summary: its 95% interval is NaN where it has none.

    unit  count, percent, points or number, as in a verdict's summary
    """

    value: float
    low: float = math.nan
    high: float = math.nan
    n: int = 0
    unit: str = "number"

    @property
    def has_interval(self) -> bool:
        return not (math.isnan(self.low) or math.isnan(self.high))

    def is_above(self, limit: float) -> bool:
        """Whether all of its interval is: without one, whether the number is."""
        return (self.low if self.has_interval else self.value) > limit

    def is_below(self, limit: float) -> bool:
        return (self.high if self.has_interval else self.value) < limit


@dataclass(frozen=True, eq=False)
class Witness:
    """One model, or the seeds of one.

    summary   as `Verdict.summary()` has it: exam, table, row, column, value, low, high, n, unit
    over      what its intervals are over: documents or seeds
    manifest  what was examined and how, where it is known
    majority  the share of the largest class among the labels; NaN where they are not known
    """

    name: str
    summary: pd.DataFrame
    manifest: Mapping[str, Any] = field(default_factory=dict)
    over: str = DOCUMENTS
    majority: float = math.nan

    @classmethod
    def of(cls, name: str, verdict: Verdict) -> Witness:
        return cls(name, verdict.summary(), verdict.manifest, majority=_majority(verdict))

    @cached_property
    def _numbers(self) -> dict[tuple[str, str, str], Number]:
        names = ("table", "row", "column", "value", "low", "high", "n", "unit")
        found = {}
        for table, row, column, *rest in zip(*(self.summary[n] for n in names), strict=True):
            value, low, high, n, unit = rest
            own = Number(float(value), float(low), float(high), int(n), str(unit))
            found[str(table), str(row), str(column)] = own
        return found

    def number(self, table: str, row: str, column: str) -> Number | None:
        """A number of the summary; None where it is not there, or has no value."""
        found = self._numbers.get((table, row, column))
        return None if found is None or math.isnan(found.value) else found

    def cell(self, table: str, row: str, column: str) -> Number | None:
        """The same, but NaN where the summary has the place and no value for it."""
        return self._numbers.get((table, row, column))

    def rows(self, table: str) -> list[str]:
        own = self.summary["row"][self.summary["table"] == table]
        return [str(row) for row in dict.fromkeys(own)]

    def columns(self, table: str) -> list[str]:
        own = self.summary["column"][self.summary["table"] == table]
        return [str(column) for column in dict.fromkeys(own)]

    def tables(self, exam: str) -> list[str]:
        own = self.summary["table"][self.summary["exam"] == exam]
        return [str(table) for table in dict.fromkeys(own)]

    @property
    def exams(self) -> list[str]:
        return [str(exam) for exam in dict.fromkeys(self.summary["exam"])]

    @property
    def item(self) -> str:
        """What attention weighs, in the singular."""
        return "sentence" if self.manifest.get("attended") == "sentences" else "word"

    @property
    def is_uniform(self) -> bool:
        """Whether attention is uniform by construction."""
        model = self.manifest.get("model") or {}
        return (model.get("options") or {}).get("projection") == "uniform"

    @property
    def chance(self) -> float:
        """The probability of a class where nothing is known; NaN where classes are not."""
        classes = self.manifest.get("classes") or ()
        return 1 / len(classes) if classes else math.nan


def _majority(verdict: Verdict) -> float:
    for name in ("replacement_instances", "adversary_instances"):
        if name in verdict.tables:
            table = verdict.tables[name]
            labels = table.loc[table["measure"] == "label", "value"].dropna()
            if len(labels):
                return float(labels.value_counts(normalize=True).iloc[0])
    return math.nan
