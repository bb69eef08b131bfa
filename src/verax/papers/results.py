"""A paper's results: the finished cells of all its studies, from one run or several."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from verax.errors import VeraxError
from verax.papers.folders import CORPORA, DESCRIBED_BY, read_studies
from verax.papers.numbers import SeedMean

TABLES = "tables"
"""The folder of a paper's tables, beside its page."""
SUMMARY = ["cell", "exam", "table", "row", "column", "value", "low", "high", "n", "unit"]


class Missing(VeraxError):  # noqa: N818  a state of results, and no fault
    """A number needs cells that are not in the results; a claim that raises it is undecided."""


class PaperResults:
    """All numbers of a paper's finished cells.

    cells       a row per finished cell and part: `cell`, `part`, all options, scores, versions,
                device
    summary     a row per number: cell, exam, table, row, column, value, low, high, n, unit
    tables      name → rows with `cell`, of other tables that were kept, such as single_token_tokens
    unfinished  part → how many cells of its studies are not done
    questions   part → the question of its study

    A cell that two parts share is in both, and counts once in every number.
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
        self._probes: Path | None = None
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
        """The results in a folder.

        Args:
            folder: one that holds studies, packed or not, in a folder each; or a study itself.

        Returns:
            The finished cells of all these studies.

        Raises:
            Missing: no cell is finished.
        """
        folder = Path(folder)
        read = read_studies(folder, SUMMARY)
        if read is None:
            raise Missing(f"{folder} holds no finished study: run the paper, or name its results")
        results = cls(*read)
        results._probes = folder / "probes"
        return results

    @cached_property
    def probes(self) -> PaperResults | None:
        """Results of probes, in the folder `probes` beside these; None without any."""
        if self._probes is None or (read := read_studies(self._probes, SUMMARY)) is None:
            return None
        return PaperResults(*read)

    def of_corpora(self, corpora: Collection[str]) -> PaperResults:
        """The results on some corpora alone.

        Args:
            corpora: their names.

        Returns:
            New results, with `unfinished` and `questions` of all corpora.
        """
        cells = self.cells[self.cells["corpus"].isin(list(corpora))]
        keys = set(cells["cell"])
        return PaperResults(
            cells,
            self.summary[self.summary["cell"].isin(keys)],
            {
                name: rows[rows["cell"].isin(keys)] if "cell" in rows else rows
                for name, rows in self.tables.items()
            },
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
        """The rows of one of `tables`, by cell.

        Args:
            name: of the table.

        Returns:
            Cell → its rows; empty if there is no such table.
        """
        if name not in self._by_cell:
            table = self.tables.get(name, pd.DataFrame({"cell": []}))
            groups = table.groupby("cell", sort=False, observed=True)
            self._by_cell[name] = {str(key): rows for key, rows in groups}
        return self._by_cell[name]

    def select(self, **where: Any) -> pd.DataFrame:
        """The cells of a configuration.

        Args:
            where: column of `cells` → its value, or a collection of which any value will do. None
                selects cells without a value. A column that no cell has selects none.

        Returns:
            Rows of `cells`, each cell once, by seed.
        """
        positions = self._positions(where)
        key = positions.tobytes()
        if key not in self._selected:
            self._selected[key] = self.cells.iloc[positions]
        return self._selected[key]

    def _positions(self, where: Mapping[str, Any]) -> np.ndarray:
        """Rows of `cells` that `select` chooses, by seed."""
        key = tuple((column, _hashable(value)) for column, value in where.items())
        if key not in self._chosen:
            chosen = np.ones(len(self.cells), dtype=bool)
            for column, value in key:
                chosen &= self._matching(column, value)
            positions = np.flatnonzero(chosen)
            _, first = np.unique(self._keys[positions], return_index=True)
            positions = positions[np.sort(first)]
            self._chosen[key] = positions[np.argsort(self._seeds[positions], kind="stable")]
        return self._chosen[key]

    def _matching(self, column: str, option: Hashable) -> np.ndarray:
        """Which cells have an option, a value or one of a tuple of values, in a column."""
        if (column, option) not in self._matched:
            values = option if isinstance(option, tuple) else (option,)
            fits = np.full(len(self.cells), column not in self.cells and None in values)
            for value in values if column in self.cells else ():
                cells = self.cells[column]
                equal = cells.isna() if value is None else (cells == value).fillna(False)
                fits |= equal.to_numpy(dtype=bool)
            self._matched[column, option] = fits
        return self._matched[column, option]

    def corpora(self, **where: Any) -> list[str]:
        """Names of the corpora of selected cells.

        Args:
            where: which cells, as in `select`; all by default.

        Returns:
            Each name once, in the order of the cells.
        """
        if "corpus" not in self.cells:
            return []
        corpora = self.cells["corpus"].to_numpy(dtype=object)[self._positions(where)]
        return [str(name) for name in dict.fromkeys(corpora)]

    def find(self, table: str, row: str, column: str, **where: Any) -> SeedMean | None:
        """A number of the summary, over the seeds of one model.

        Args:
            table: id of the table in the summary.
            row: id of the row.
            column: id of the column.
            where: which cells, as in `select`; they have to be seeds of one model.

        Returns:
            The mean over seeds, percents of 100; None if no cell has a value.

        Raises:
            VeraxError: two of the cells have the same seed, so that `where` names several models.
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
        """As `find`, but never None.

        Args:
            table: id of the table in the summary.
            row: id of the row.
            column: id of the column.
            where: which cells, as in `select`.

        Returns:
            The mean over seeds.

        Raises:
            Missing: no cell has a value.
        """
        number = self.find(table, row, column, **where)
        if number is None:
            options = ", ".join(f"{name} {value}" for name, value in where.items())
            raise Missing(f"no finished cell gives {table}: {row}, {column} ({options})")
        return number

    def fact(self, column: str, **where: Any) -> SeedMean | None:
        """A column of `cells`, over the seeds of one model; it has no interval over documents.

        Args:
            column: such as test_accuracy.
            where: which cells, as in `select`; they have to be seeds of one model.

        Returns:
            The mean over seeds; None if no cell has a value.
        """
        chosen = self.select(**where)
        if chosen.empty or column not in chosen:
            return None
        self._refuse_mixtures(chosen, where)
        number = SeedMean.of(chosen[column].astype(float).tolist(), chosen["cell"].tolist())
        return None if math.isnan(number.value) else number

    def described(self, column: str, **where: Any) -> SeedMean | None:
        """A number of corpora.csv, of the corpus of selected cells as they read it.

        Args:
            column: such as classes or vocabulary.
            where: which cells, as in `select`.

        Returns:
            The number, with one of the cells; None if nothing is known of their corpus.
        """
        table, chosen = self.tables.get(CORPORA), self.select(**where)
        if table is None or chosen.empty:
            return None
        cell = chosen.iloc[0]
        for name in DESCRIBED_BY:
            value = cell.get(name)
            same = table[name].isna() if pd.isna(value) else table[name] == value
            table = table[same]
        if table.empty:
            return None
        return SeedMean.of([float(table.iloc[0][column])], [str(cell["cell"])])

    def rows(self, table: str, column: str, **where: Any) -> list[str]:
        """Ids of the rows of a summary table that selected cells have.

        Args:
            table: id of the table in the summary.
            column: id of a column that the rows have.
            where: which cells, as in `select`.

        Returns:
            Each id once, in the order of the summary.
        """
        chosen = set(self._keys[self._positions(where)])
        rows = self._rows.get((table, column), ())
        return list(dict.fromkeys(row for row, cell in rows if cell in chosen))

    @staticmethod
    def _refuse_mixtures(chosen: pd.DataFrame, where: Mapping[str, Any]) -> None:
        if chosen["seed"].duplicated().any():
            differing = [
                str(c)
                for c in chosen
                if c not in _NOT_OPTIONS and chosen[c].astype(str).nunique(dropna=False) > 1
            ]
            raise VeraxError(
                f"cells of {where} are of several models: they differ in "
                f"{', '.join(differing) or 'nothing but the part'}"
            )


_NOT_OPTIONS = {
    *("cell", "part", "seed", "seconds", "seconds_train", "seconds_examine", "started"),
    *("finished", "test_accuracy", "test_f1", "test_macro_f1", "test_roc_auc", "test_loss"),
    *("commit", "device", "strength_chosen"),
}


def _hashable(option: Any) -> Hashable:
    """A value as it is, a collection as a tuple."""
    several = isinstance(option, Collection) and not isinstance(option, str)
    return tuple(option) if several else option
