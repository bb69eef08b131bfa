"""A paper's results: the finished cells of all its studies, whatever runs they came in."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from verax.errors import VeraxError
from verax.papers.numbers import SeedMean
from verax.studies.store import open_study
from verax.studies.store.packed import FIRST
from verax.studies.store.store import STORE

TABLES = "tables"
"""The folder of a paper's tables, beside its page."""
SUMMARY = ["cell", "exam", "table", "row", "column", "value", "low", "high", "n", "unit"]


class Missing(VeraxError):  # noqa: N818  a state of results, and no fault
    """Cells that a number needs and that are not there; a claim that meets one is undecided."""


class PaperResults:
    """Every number of every cell, found by what the cell is and what the number is called.

    cells    a row a finished cell of a part: `cell`, `part`, every option, scores, versions, device
    summary  a row a number: cell, exam, table, row, column, value, low, high, n, unit
    tables   what else was kept of cells, such as single_token_tokens: name → rows with `cell`
    unfinished  part → how many of its cells are not done, as far as its studies tell
    questions   part → what its study asks

    A cell that two parts share is in both, and counts once wherever numbers are made.
    """

    def __init__(
        self,
        cells: pd.DataFrame,
        summary: pd.DataFrame,
        tables: Mapping[str, pd.DataFrame] | None = None,
        unfinished: Mapping[str, int] | None = None,
        questions: Mapping[str, str] | None = None,
    ) -> None:
        self.cells = cells.reset_index(drop=True)
        self.summary = summary.drop_duplicates(["cell", "exam", "table", "row", "column"])
        self.tables = dict(tables or {})
        self.unfinished = dict(unfinished or {})
        self.questions = dict(questions or {})
        nothing = pd.Series(dtype=object)
        self._keys = self.cells.get("cell", nothing).to_numpy(dtype=object)
        self._seeds = self.cells.get("seed", nothing).to_numpy()
        self._selected: dict[Hashable, pd.DataFrame] = {}
        self._chosen: dict[Hashable, np.ndarray] = {}
        self._matched: dict[Hashable, np.ndarray] = {}
        self._by_cell: dict[str, dict[str, pd.DataFrame]] = {}

    def __repr__(self) -> str:
        parts = ", ".join(f"{part} {n}" for part, n in self.cells["part"].value_counts().items())
        return f"PaperResults({self.cells['cell'].nunique()} cells: {parts})"

    @classmethod
    def open(cls, folder: str | Path) -> PaperResults:
        """Of a folder that holds studies, packed or not, each in a folder of its own."""
        folder = Path(folder)
        cells, summaries = [], []
        wanted: dict[str, set[str]] = {}
        questions: dict[str, str] = {}
        tables: dict[str, list[pd.DataFrame]] = {}
        for path in studies_in(folder):
            study = open_study(path, every=True)
            part, table = part_of(study.name), study.cells
            wanted.setdefault(part, set()).update(table["cell"])
            questions.setdefault(part, study.question or "")
            if "status" not in table or not (table["status"] == "done").any():
                continue
            done = table[table["status"] == "done"].drop(columns=["status", "error"])
            cells.append(done.assign(part=part))
            summaries.append(study.summary([])[SUMMARY])
            for name in KEPT:
                if name in study.tables:
                    rows, earlier = study.table(name, []), tables.setdefault(name, [])
                    known = {key for other in earlier for key in other["cell"].unique()}
                    if known & set(rows["cell"].unique()):
                        rows = rows[~rows["cell"].isin(known)]
                    earlier.append(rows)
        if (folder / f"{POINTS}.parquet").exists():
            tables[POINTS] = [pd.read_parquet(folder / f"{POINTS}.parquet")]
        if not cells:
            raise Missing(f"{folder} holds no finished study: run the paper, or name its results")
        finished = {key for frame in cells for key in frame["cell"]}
        unfinished = {p: len(keys - finished) for p, keys in wanted.items() if keys - finished}
        known_columns = [frame.dropna(axis="columns", how="all") for frame in cells]
        return cls(
            _together(known_columns).drop_duplicates(["cell", "part"]),
            _together(summaries),
            {name: _together(parts) for name, parts in tables.items()},
            unfinished,
            questions,
        )

    def of_corpora(self, corpora: Collection[str]) -> PaperResults:
        """Those of some corpora alone; what is unfinished, and questions, stay as they are."""
        cells = self.cells[self.cells["corpus"].isin(list(corpora))]
        keys = set(cells["cell"])
        return PaperResults(
            cells,
            self.summary[self.summary["cell"].isin(keys)],
            {name: rows[rows["cell"].isin(keys)] for name, rows in self.tables.items()},
            self.unfinished,
            self.questions,
        )

    @cached_property
    def _numbers(self) -> dict[tuple[str, str, str], dict[str, tuple[float, float, float, int]]]:
        """(table, row, column) → cell → value, low, high, n."""
        numbers: dict[tuple[str, str, str], dict[str, tuple[float, float, float, int]]] = {}
        names = ["table", "row", "column", "cell", "value", "low", "high", "n"]
        columns = (self.summary[name].tolist() for name in names)
        for table, row, column, cell, value, low, high, n in zip(*columns, strict=True):
            by_cell = numbers.setdefault((str(table), str(row), str(column)), {})
            by_cell[str(cell)] = (float(value), float(low), float(high), int(n))
        return numbers

    @cached_property
    def _rows(self) -> dict[tuple[str, str], list[tuple[str, str]]]:
        """(table, column) → (row, cell) of each of its numbers, in the summary's order."""
        rows: dict[tuple[str, str], list[tuple[str, str]]] = {}
        names = (self.summary[name].tolist() for name in ("table", "column", "row", "cell"))
        for table, column, row, cell in zip(*names, strict=True):
            rows.setdefault((str(table), str(column)), []).append((str(row), str(cell)))
        return rows

    def table_by_cell(self, name: str) -> dict[str, pd.DataFrame]:
        """Cell → its rows of one of `tables`; empty where there is no such table."""
        if name not in self._by_cell:
            table = self.tables.get(name, pd.DataFrame({"cell": []}))
            groups = table.groupby("cell", sort=False, observed=True)
            self._by_cell[name] = {str(key): rows for key, rows in groups}
        return self._by_cell[name]

    def select(self, **where: Any) -> pd.DataFrame:
        """The cells of a configuration, each once; a collection means any of its values.

        A column that no cell has selects none, and None those that have no value there.
        """
        positions = self._positions(where)
        key = positions.tobytes()
        if key not in self._selected:
            self._selected[key] = self.cells.iloc[positions]
        return self._selected[key]

    def _positions(self, where: Mapping[str, Any]) -> np.ndarray:
        """Rows of `cells` that `select` chooses, by seed."""
        key = tuple((column, _hashed(wanted)) for column, wanted in where.items())
        if key not in self._chosen:
            chosen = np.ones(len(self.cells), dtype=bool)
            for column, wanted in key:
                chosen &= self._matching(column, wanted)
            positions = np.flatnonzero(chosen)
            _, first = np.unique(self._keys[positions], return_index=True)
            positions = positions[np.sort(first)]
            self._chosen[key] = positions[np.argsort(self._seeds[positions], kind="stable")]
        return self._chosen[key]

    def _matching(self, column: str, wanted: Hashable) -> np.ndarray:
        """Which cells have a value of a column, or one of several."""
        if (column, wanted) not in self._matched:
            values = wanted if isinstance(wanted, tuple) else (wanted,)
            fits = np.full(len(self.cells), column not in self.cells and None in values)
            for value in values if column in self.cells else ():
                cells = self.cells[column]
                equal = cells.isna() if value is None else (cells == value).fillna(False)
                fits |= equal.to_numpy(dtype=bool)
            self._matched[column, wanted] = fits
        return self._matched[column, wanted]

    def corpora(self, **where: Any) -> list[str]:
        """Names of the corpora that selected cells have, in the order in which they come."""
        if "corpus" not in self.cells:
            return []
        corpora = self.cells["corpus"].to_numpy(dtype=object)[self._positions(where)]
        return [str(name) for name in dict.fromkeys(corpora)]

    def find(self, table: str, row: str, column: str, **where: Any) -> SeedMean | None:
        """A number of the summary over the seeds of a configuration; None where it has no value.

        Percents are as they are in the summary, of 100. Selected cells have to be seeds of one
        model: two with the same seed are an error, for then `where` does not say enough.
        """
        rows = self._numbers.get((table, row, column), {})
        positions = [at for at in self._positions(where) if self._keys[at] in rows]
        if not positions:
            return None
        if len(set(self._seeds[positions])) < len(positions):
            self._refuse_mixtures(self.cells.iloc[positions], where)
        cells = [str(key) for key in self._keys[positions]]
        values, lows, highs, ns = zip(*(rows[key] for key in cells), strict=True)
        # of one seed alone, the one that has a value
        single = next((i for i, value in enumerate(values) if not math.isnan(value)), None)
        if single is None:
            return None
        return SeedMean.of(values, cells, max(ns), (lows[single], highs[single]))

    def number(self, table: str, row: str, column: str, **where: Any) -> SeedMean:
        """As `find`; raises `Missing` instead of returning None."""
        number = self.find(table, row, column, **where)
        if number is None:
            options = ", ".join(f"{name} {value}" for name, value in where.items())
            raise Missing(f"no finished cell gives {table}: {row}, {column} ({options})")
        return number

    def fact(self, column: str, **where: Any) -> SeedMean | None:
        """A column of `cells`, such as test_accuracy, over seeds; None where it has no value.

        It has no interval over documents.
        """
        chosen = self.select(**where)
        if chosen.empty or column not in chosen:
            return None
        self._refuse_mixtures(chosen, where)
        number = SeedMean.of(chosen[column].astype(float).tolist(), chosen["cell"].tolist())
        return None if math.isnan(number.value) else number

    def rows(self, table: str, column: str, **where: Any) -> list[str]:
        """Names of the rows of a summary table that selected cells have, in order."""
        chosen = set(self._keys[self._positions(where)])
        rows = self._rows.get((table, column), ())
        return list(dict.fromkeys(row for row, cell in rows if cell in chosen))

    @staticmethod
    def _refuse_mixtures(chosen: pd.DataFrame, where: Mapping[str, Any]) -> None:
        if chosen["seed"].duplicated().any():
            differing = [
                str(c)
                for c in chosen
                if c not in _OWN and chosen[c].astype(str).nunique(dropna=False) > 1
            ]
            raise VeraxError(
                f"cells of {where} are of several models: they differ in "
                f"{', '.join(differing) or 'nothing but the part'}"
            )


POINTS = "delta_js_points"
"""The table of points of scatter plots, which `verax.papers.packing` thins."""
KEPT = ("single_token_tokens",)
"""Tables of cells that figures are made of, beside the summary."""
_OWN = {
    *("cell", "part", "seed", "seconds", "seconds_train", "seconds_examine", "started"),
    *("finished", "test_accuracy", "test_f1", "test_macro_f1", "test_roc_auc", "test_loss"),
    *("commit", "device", "strength_chosen"),
}


def _hashed(wanted: Any) -> Hashable:
    several = isinstance(wanted, Collection) and not isinstance(wanted, str)
    return tuple(wanted) if several else wanted


def is_study(folder: Path) -> bool:
    return (folder / FIRST).exists() or (folder / STORE).exists()


def studies_in(folder: Path) -> list[Path]:
    """The studies right below a folder, or the folder itself if it is one."""
    if is_study(folder):
        return [folder]
    return [path for path in sorted(folder.glob("*/")) if is_study(path)]


def paper_of(name: str) -> str:
    """The paper that a study's name begins with; empty if it names none.

    >>> paper_of("tutek-snajder-2020.layers")
    'tutek-snajder-2020'
    """
    return name.rpartition(".")[0]


def part_of(name: str) -> str:
    """The part of a paper that a study's name ends in.

    >>> part_of("tutek-snajder-2020.layers")
    'layers'
    """
    return name.rpartition(".")[2]


def _together(frames: list[pd.DataFrame]) -> pd.DataFrame:
    plain = []
    for frame in frames:
        text = {str(c): "object" for c in frame if isinstance(frame[c].dtype, pd.CategoricalDtype)}
        plain.append(frame.astype(text))
    return pd.concat(plain, ignore_index=True)
