"""What an examination found: tidy tables, a summary over them, and both as a folder."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from verax.errors import VeraxError
from verax.files import replace_folder, write_text

FORMAT = 1
MANIFEST, SUMMARY, REPORT = "manifest.json", "summary.parquet", "report.html"
COLUMNS = ["exam", "table", "row", "column", "value", "low", "high", "n", "unit"]


@dataclass(frozen=True, eq=False)
class Verdict:
    """The results of one model on one split.

    tables    name → tidy DataFrame, one row per instance and measure
    manifest  what was examined and how: model, corpus, split, seed, options, versions, counts
    """

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

    def save(self, folder: str | Path) -> None:
        """Write a Parquet file a table, the summary, and `manifest.json`, all at once."""

        def write(target: Path) -> None:
            for name, table in self.tables.items():
                table.to_parquet(target / f"{name}.parquet", index=False, compression="zstd")
            self._summary.to_parquet(target / SUMMARY, index=False, compression="zstd")
            text = json.dumps(self.manifest, indent=2, ensure_ascii=False, allow_nan=False)
            write_text(target / MANIFEST, text + "\n")

        replace_folder(folder, write, owned=is_only_a_verdict)

    def report(self, path: str | Path) -> None:
        """Write one HTML file that shows it all, needs no other and no network.

        See `verax.report.report`, which shows several side by side.
        """
        from verax.report.report import report

        report(self, path)

    def _repr_html_(self) -> str:
        from verax.report.notebook import verdict_html

        return verdict_html(self)


def load_verdict(folder: str | Path) -> Verdict:
    """The verdict saved in `folder`."""
    path = Path(folder)
    if not (path / MANIFEST).is_file():
        raise VeraxError(f"{folder} is not a saved verdict: expected a folder that examine wrote")
    try:
        manifest = json.loads((path / MANIFEST).read_text(encoding="utf-8"))
        found = manifest.get("format") if isinstance(manifest, dict) else None
        if found != FORMAT or not {"exams", "tables"} <= set(manifest):
            raise VeraxError(
                f"{folder} has format {found!r}, this Verax reads {FORMAT}: examine the model again"
            )
        names = [Path(str(name)).name for name in manifest["tables"]]  # of this folder only
        tables = {name: pd.read_parquet(path / f"{name}.parquet") for name in names}
        return Verdict(tables, manifest, pd.read_parquet(path / SUMMARY))
    except (OSError, ValueError) as error:
        raise VeraxError(f"cannot read {folder}: {error}") from error


def is_only_a_verdict(folder: Path) -> bool:
    """Whether a folder holds a saved verdict, or one and its report, so that it may be replaced."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        tables = manifest["tables"]
    except (OSError, ValueError, KeyError, TypeError):
        return False
    names = {path.name for path in folder.iterdir()} - {REPORT}
    return names == {MANIFEST, SUMMARY, *(f"{name}.parquet" for name in tables)}


def summary_frame(exam: str, rows: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """Rows of a summary; what a row does not say is NaN."""
    frame = pd.DataFrame([{"exam": exam, **row} for row in rows], columns=COLUMNS)
    for name in ("value", "low", "high"):
        frame[name] = frame[name].astype("float64")
    frame["n"] = frame["n"].astype("int64")
    return frame
