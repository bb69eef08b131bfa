"""A model as a judgement sees it: every number of its exams with an interval, and what it is."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pandas as pd

from verax.exams.judgement.lines import Texts
from verax.exams.judgement.number import DOCUMENTS, SEEDS, Number
from verax.models.kinds import KINDS, POOLED

if TYPE_CHECKING:
    from verax.exams.judgement.judgement import Judgement

__all__ = ["DOCUMENTS", "SEEDS", "ModelSummary", "Number"]


@dataclass(frozen=True, eq=False)
class ModelSummary:
    """Every number of one model, or of the seeds of one.

    summary   as `Verdict.summary()` has it: exam, table, row, column, measure, value, low, high, n,
              unit; and `over`, where intervals are not all over the same
    over      what its intervals are over: documents or seeds
    manifest  what was examined and how, where it is known
    """

    name: str
    summary: pd.DataFrame
    manifest: Mapping[str, Any] = field(default_factory=dict)
    over: str = DOCUMENTS

    @cached_property
    def judgement(self) -> Judgement:
        """What every exam says of this model's attention."""
        from verax.exams.judgement.judgement import judge

        return judge(self)

    @cached_property
    def _numbers(self) -> dict[tuple[str, str, str], Number]:
        names = ("table", "row", "column", "value", "low", "high", "n", "unit")
        columns = [self.summary[name].tolist() for name in names]
        over = self.summary.get("over", pd.Series(self.over, index=self.summary.index))
        numbers = {}
        for table, row, column, value, low, high, n, unit, unit_over in zip(
            *columns, over.tolist(), strict=True
        ):
            number = Number(
                float(value), float(low), float(high), int(n), str(unit), str(unit_over)
            )
            numbers[str(table), str(row), str(column)] = number
        return numbers

    def number(self, table: str, row: str, column: str) -> Number | None:
        """A number of the summary; None where it is not there, or has no value."""
        number = self._numbers.get((table, row, column))
        return None if number is None or math.isnan(number.value) else number

    def cell(self, table: str, row: str, column: str) -> Number | None:
        """A number of the summary, also where it is NaN; None where it is not there."""
        return self._numbers.get((table, row, column))

    @cached_property
    def _rows(self) -> dict[str, dict[str, None]]:
        """Table → its rows in their order."""
        found: dict[str, dict[str, None]] = {}
        for table, row, _ in self._numbers:
            found.setdefault(table, {})[row] = None
        return found

    def rows(self, table: str) -> list[str]:
        return list(self._rows.get(table, ()))

    def columns(self, table: str) -> list[str]:
        columns = self.summary["column"][self.summary["table"] == table]
        return [str(column) for column in dict.fromkeys(columns)]

    def tables(self, exam: str) -> list[str]:
        tables = self.summary["table"][self.summary["exam"] == exam]
        return [str(table) for table in dict.fromkeys(tables)]

    @property
    def exams(self) -> list[str]:
        return [str(exam) for exam in dict.fromkeys(self.summary["exam"])]

    @property
    def classes(self) -> list[str]:
        """Names of the model's classes; empty where they are not known."""
        return [str(name) for name in self.manifest.get("classes") or ()]

    @property
    def kind(self) -> str:
        """The kind of model (`verax.models.kinds`)."""
        model = self.manifest.get("model") or {}
        # a verdict that was saved has its own kind of result in this place, or none
        named = [place.get("kind") for place in (self.manifest, model, model.get("options") or {})]
        return next((str(kind) for kind in named if kind in KINDS), POOLED)

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
    def texts(self) -> Texts:
        """What limits may depend on: words a document, and classes.

        Results that do not say how many words a document has may say how many items were ranked.
        """
        words = self.manifest.get("words")
        if words is None and self.item == "word":
            tables = ("agreement.documents", "dispersion.documents")
            found = (self.number(table, "items", "value") for table in tables)
            words = next((number.value for number in found if number is not None), None)
        length = None if words is None else float(words)
        return Texts(length, len(self.classes) or None)

    @property
    def chance(self) -> float:
        """The probability of a class where nothing is known; NaN where classes are not."""
        return 1 / len(self.classes) if self.classes else math.nan

    @property
    def majority(self) -> float:
        """The share of the largest class among the labels; NaN where they are not known."""
        labels = [int(count) for count in (self.manifest.get("labels") or {}).values()]
        return max(labels) / sum(labels) if sum(labels) else math.nan

    def documents(self, number: Number) -> str:
        """How many documents a number is of, in words."""
        return f"{number.n:,} documents{' a seed' if self.over == SEEDS else ''}"
