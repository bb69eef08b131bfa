"""What an examination found: tidy tables, a summary over them, and both as a folder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from verax.errors import VeraxError
from verax.results import Result

FORMAT = 1
SUMMARY = "summary"
COLUMNS = ["exam", "table", "row", "column", "value", "low", "high", "n", "unit"]


@dataclass(frozen=True, eq=False)
class Verdict(Result):
    """The results of one model on one split.

    tables    name → tidy DataFrame, one row per instance and measure
    manifest  what was examined and how: model, corpus, split, seed, options, versions, counts
    """

    kind, format, remedy = "verdict", FORMAT, "examine the model again"

    tables: Mapping[str, pd.DataFrame]
    manifest: Mapping[str, Any] = field(default_factory=dict)
    _summary: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=COLUMNS))

    def __repr__(self) -> str:
        exams = ", ".join(self.manifest.get("exams", []))
        return f"Verdict({exams}: {', '.join(f'{n} {len(t):,}' for n, t in self.tables.items())})"

    def summary(self, table: str | None = None) -> pd.DataFrame:
        """Every number of every table with its 95% interval over instances, one a row.

        exam, table, row, column   where it stands
        value, low, high           the number and its interval, NaN where it has none
        n                          the instances it is over
        unit                       count, percent, points (of percent) or number

        With the name of a table, that table alone in its printed form: its rows by its columns.
        """
        if table is None:
            return self._summary.copy()
        rows = self._summary[self._summary["table"] == table]
        if rows.empty:
            there = ", ".join(dict.fromkeys(self._summary["table"]))
            raise VeraxError(f"no table {table!r} in the summary: it has {there}")
        shown = rows.pivot(index="row", columns="column", values="value")
        shown = shown.loc[list(dict.fromkeys(rows["row"])), list(dict.fromkeys(rows["column"]))]
        return shown.rename_axis(index=None, columns=None)

    def _tables(self) -> dict[str, pd.DataFrame]:
        return {**self.tables, SUMMARY: self._summary}

    @classmethod
    def _names(cls, manifest: Mapping[str, Any]) -> tuple[str, ...]:
        return (*manifest["tables"], SUMMARY)

    @classmethod
    def _restored(cls, tables: Mapping[str, pd.DataFrame], manifest: dict[str, Any]) -> Verdict:
        return cls({name: tables[name] for name in manifest["tables"]}, manifest, tables[SUMMARY])


def load_verdict(folder: str | Path) -> Verdict:
    """The verdict saved in `folder`."""
    return Verdict.load(folder)


def summary_frame(exam: str, rows: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """Rows of a summary; what a row does not say is NaN."""
    frame = pd.DataFrame([{"exam": exam, **row} for row in rows], columns=COLUMNS)
    for name in ("value", "low", "high"):
        frame[name] = frame[name].astype("float64")
    frame["n"] = frame["n"].astype("int64")
    return frame
