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
from verax.papers.numbers import Number
from verax.papers.points import POINTS
from verax.studies.store import open_study
from verax.studies.store.packed import FIRST
from verax.studies.store.store import STORE

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
        self._selected: dict[Hashable, pd.DataFrame] = {}

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
            found = open_study(path, every=True)
            own = found.cells
            wanted.setdefault(part_of(found.name), set()).update(own["cell"])
            questions.setdefault(part_of(found.name), found.question or "")
            if "status" not in own or not (own["status"] == "done").any():
                continue
            own = own[own["status"] == "done"].drop(columns=["status", "error"], errors="ignore")
            cells.append(own.assign(part=part_of(found.name)))
            summaries.append(found.summary([])[SUMMARY])
            for name in KEPT:
                if name in found.tables:
                    rows, parts = found.table(name, []), tables.setdefault(name, [])
                    known = {key for part in parts for key in part["cell"].unique()}
                    parts.append(rows[~rows["cell"].isin(known)])
        if (folder / f"{POINTS}.parquet").exists():
            tables[POINTS] = [pd.read_parquet(folder / f"{POINTS}.parquet")]
        if not cells:
            raise Missing(f"{folder} holds no finished study: run the paper, or name its results")
        done = {key for own in cells for key in own["cell"]}
        unfinished = {part: len(keys - done) for part, keys in wanted.items() if keys - done}
        return cls(
            _together([own.dropna(axis="columns", how="all") for own in cells]).drop_duplicates(
                ["cell", "part"]
            ),
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
        found: dict[tuple[str, str, str], dict[str, tuple[float, float, float, int]]] = {}
        names = ["table", "row", "column", "cell", "value", "low", "high", "n"]
        columns = (self.summary[name].tolist() for name in names)
        for table, row, column, cell, value, low, high, n in zip(*columns, strict=True):
            own = found.setdefault((str(table), str(row), str(column)), {})
            own[str(cell)] = (float(value), float(low), float(high), int(n))
        return found

    def select(self, **where: Any) -> pd.DataFrame:
        """The cells of a configuration, each once; a collection means any of its values.

        A column that no cell has selects none, and None those that have no value there.
        """
        asked = tuple((column, _hashed(wanted)) for column, wanted in where.items())
        if asked not in self._selected:
            self._selected[asked] = self._select(where)
        return self._selected[asked]

    def _select(self, where: Mapping[str, Any]) -> pd.DataFrame:
        chosen = np.ones(len(self.cells), dtype=bool)
        for column, wanted in where.items():
            several = isinstance(wanted, Collection) and not isinstance(wanted, str)
            values = list(wanted) if several else [wanted]
            if column not in self.cells:
                chosen &= None in values
                continue
            there = self.cells[column]
            fits = np.zeros(len(self.cells), dtype=bool)
            for value in values:
                found = there.isna() if value is None else (there == value).fillna(False)
                fits |= found.to_numpy(dtype=bool)
            chosen &= fits
        return self.cells[chosen].drop_duplicates("cell").sort_values("seed", kind="stable")

    def corpora(self, **where: Any) -> list[str]:
        """Names of the corpora that selected cells have, in the order in which they come."""
        return [str(name) for name in dict.fromkeys(self.select(**where)["corpus"])]

    def find(self, table: str, row: str, column: str, **where: Any) -> Number | None:
        """A number of the summary over the seeds of a configuration; None where there is none.

        Percents are as they are in the summary, of 100. Selected cells have to be seeds of one
        model: two with the same seed are an error, for then `where` does not say enough.
        """
        chosen = self.select(**where)
        rows = self._numbers.get((table, row, column))
        if rows is None or chosen.empty:
            return None
        seeds = {
            key: seed
            for key, seed in zip(chosen["cell"], chosen["seed"], strict=True)
            if key in rows
        }
        cells = list(seeds)
        if not cells:
            return None
        # pages ask for thousands of numbers: rows are copied only where there is something to say
        if len(set(seeds.values())) < len(cells):
            self._refuse_mixtures(chosen[chosen["cell"].isin(cells)], where)
        values, lows, highs, ns = zip(*(rows[key] for key in cells), strict=True)
        # of one seed alone, the one that has a value
        own = next((place for place, value in enumerate(values) if not math.isnan(value)), 0)
        return Number.of(values, cells, max(ns), (lows[own], highs[own]))

    def number(self, table: str, row: str, column: str, **where: Any) -> Number:
        """As `find`; a number that is not there is `Missing`."""
        found = self.find(table, row, column, **where)
        if found is None or math.isnan(found.value):
            told = ", ".join(f"{name} {value}" for name, value in where.items())
            raise Missing(f"no finished cell gives {table}: {row}, {column} ({told})")
        return found

    def fact(self, column: str, **where: Any) -> Number | None:
        """A column of `cells`, such as test_accuracy, over seeds; no interval over documents."""
        chosen = self.select(**where)
        if chosen.empty or column not in chosen:
            return None
        self._refuse_mixtures(chosen, where)
        return Number.of(chosen[column].astype(float).tolist(), chosen["cell"].tolist())

    def rows(self, table: str, column: str, **where: Any) -> list[str]:
        """Names of the rows of a summary table that selected cells have, in order."""
        own = self.summary[(self.summary["table"] == table) & (self.summary["column"] == column)]
        own = own[own["cell"].isin(self.select(**where)["cell"])]
        return [str(row) for row in dict.fromkeys(own["row"])]

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
