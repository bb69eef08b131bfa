"""The models of a chart: their names, colours, shapes and dashes, and their numbers together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import altair as alt
import pandas as pd

from verax.drawing.names import MOST_CHARTED, shown_names
from verax.drawing.rendering import CATEGORIES
from verax.errors import VeraxError

SHAPES = (
    *("circle", "square", "triangle-up", "diamond"),
    *("cross", "triangle-down", "triangle-right", "triangle-left"),
)
DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [10, 4], [4, 1], [1, 3], [12, 2, 2, 2])
_COLUMNS = ("exam", "table", "row", "column", "value", "low", "high", "n")
_WIDE = 540
"""Pixels that a legend's columns share."""


@dataclass(frozen=True)
class Series:
    """Names told apart by colour, and by shape or dash too, so that colour is never alone.

    field  the column of it, in every table drawn
    names  as shown, in order
    """

    field: str
    names: Sequence[str]

    @property
    def several(self) -> bool:
        return len(self.names) > 1

    def colour(self, line: bool = False, room: int = _WIDE) -> alt.Color:
        """The colour, with a legend `room` pixels wide: of lines where there are no marks."""
        legend = self._legend(line, room)
        return alt.Color(f"{self.field}:N", scale=self.scale(CATEGORIES), legend=legend, title=None)

    def shape(self, room: int = _WIDE) -> alt.Shape:
        legend = self._legend(room=room)
        return alt.Shape(f"{self.field}:N", scale=self.scale(SHAPES), legend=legend, title=None)

    def dash(self, line: bool = False) -> alt.StrokeDash:
        """The dash of a line; in the legend only where that is of lines, not of marks."""
        legend = self._legend(line) if line else None
        return alt.StrokeDash(
            f"{self.field}:N", scale=self.scale(DASHES), legend=legend, title=None
        )

    def offset(self) -> alt.YOffset:
        """The place of a series within the row of a category, one below the other."""
        return alt.YOffset(f"{self.field}:N", scale=alt.Scale(domain=list(self.names)))

    def scale(self, values: Sequence[Any]) -> alt.Scale:
        names = list(self.names)
        return alt.Scale(domain=names, range=[values[k % len(values)] for k in range(len(names))])

    def _legend(self, line: bool = False, room: int = _WIDE) -> alt.Legend | None:
        if not self.several:
            return None
        widest = max(len(name) for name in self.names) * 7 + 45
        columns = max(1, min(len(self.names), room // widest))
        if line:
            return alt.Legend(
                columns=columns,
                symbolType="stroke",
                symbolSize=500,
                symbolStrokeWidth=2,
                labelLimit=_WIDE,
            )
        return alt.Legend(columns=columns, symbolStrokeWidth=0, labelLimit=_WIDE)


class Results(Protocol):
    """What charts read of one model's results, as a verdict has it.

    A summary has a number a row: exam, table, row and column say which, by their ids; value, low,
    high and n are the number, its interval, and how many instances it is over.
    """

    @property
    def tables(self) -> Mapping[str, pd.DataFrame]:
        """Name → tidy table."""

    def summary(self) -> pd.DataFrame:
        """Every number, one a row."""


class Models(Series):
    """Results by the models' names, side by side: each table has a column `model`."""

    results: list[Results]

    def __init__(self, results: Mapping[str, Results]) -> None:
        if len(results) > MOST_CHARTED:
            raise VeraxError(
                f"{len(results)} models in one chart: at most {MOST_CHARTED} can be told apart, "
                "give fewer",
                code="chart.too-many",
            )
        super().__init__("model", shown_names(list(results)))
        object.__setattr__(self, "results", list(results.values()))

    def table(self, name: str) -> pd.DataFrame:
        """A tidy table of all models that have it; without a row where none has."""
        parts = [
            result.tables[name].assign(model=model)
            for model, result in zip(self.names, self.results, strict=True)
            if name in result.tables and len(result.tables[name])
        ]
        return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()

    def numbers(self, exam: str, table: str) -> pd.DataFrame:
        """model, row, column, value, low, high, n of one table of the summaries.

        Args:
            exam: the exam's id.
            table: the table's id, such as `erasure.excess`.
        """
        parts = []
        for model, result in zip(self.names, self.results, strict=True):
            summary = result.summary()
            rows = summary[(summary["exam"] == exam) & (summary["table"] == table)]
            if len(rows):
                parts.append(rows.assign(model=model))
        if not parts:
            return pd.DataFrame(columns=[*_COLUMNS, "model"], dtype=object)
        return pd.concat(parts, ignore_index=True)


def of_column(numbers: pd.DataFrame, column: str) -> pd.DataFrame:
    """The rows that have a value in one column, by its id, of a summary's table."""
    return numbers[(numbers["column"] == column) & numbers["value"].notna()]
