"""A paper's results: the finished cells of all its studies, from one run or several."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from verax import StudyResults, VeraxError, open_study
from verax.statistics import SeedMean

TABLES = "tables"
"""The folder of a paper's tables, beside its page."""
SUMMARY = ["cell", "exam", "table", "row", "column", "value", "low", "high", "n", "unit"]


class Missing(VeraxError):  # noqa: N818  a state of results, and no fault
    """A folder of results has no finished cell."""

    code = "result.unfinished"


class PaperResults:
    """All numbers of a paper's finished cells.

    cells       a row per finished cell and part: `cell`, `part`, all options, scores, versions,
                device
    summary     a row per number: cell, exam, table, row, column, value, low, high, n, unit
    tables      name → rows with `cell`, of other tables that were kept, such as single_token_tokens
    unfinished  part → how many cells of its studies are not done
    questions   part → the question of its study

    A cell that two parts share is in both, and counts once in every number. Methods take `where`:
    column of `cells` → its value, or a collection of which any value will do. None selects cells
    without a value. A column that no cell has selects none.
    """

    def __init__(
        self,
        cells: pd.DataFrame,
        summary: pd.DataFrame,
        tables: Mapping[str, pd.DataFrame] | None = None,
        unfinished: Mapping[str, int] | None = None,
        questions: Mapping[str, str] | None = None,
    ) -> None:
        if cells.empty:
            cells = cells.reindex(columns=["cell", "part", "corpus", "seed"])
        self.cells = cells.reset_index(drop=True)
        self.summary = summary.drop_duplicates(["cell", "exam", "table", "row", "column"])
        self.tables = dict(tables or {})
        self.unfinished = dict(unfinished or {})
        self.questions = dict(questions or {})
        self.probes_folder: Path | None = None
        self._selected: dict[Hashable, pd.DataFrame] = {}

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
        folders = studies_in(folder)
        studies = [open_study(path, every=True) for path in folders]
        parts = {(key, part_of(study.name)): None for study in studies for key in study.done}
        if not parts:
            raise Missing(f"{folder} holds no finished study: run the paper, or name its results")
        joined = open_study(*folders, every=True)
        cells = pd.DataFrame([*parts], columns=["cell", "part"]).merge(joined.cells, on="cell")
        tables = {name: joined.table(name, []) for name in KEPT if name in joined.tables}
        if (file := folder / f"{POINTS}.parquet").exists():
            tables[POINTS] = read_points(file)
        if (file := folder / CORPORA).exists():
            tables[CORPORA] = pd.read_csv(file, dtype={"fingerprint": str})
        planned: dict[str, set[str]] = {}
        for study in studies:
            planned.setdefault(part_of(study.name), set()).update(study.cells["cell"])
        finished = set(joined.done)
        results = cls(
            cells.drop(columns=["status", "error"]),
            joined.summary([])[SUMMARY],
            tables,
            {part: len(keys - finished) for part, keys in planned.items() if keys - finished},
            {part_of(study.name): study.question or "" for study in reversed(studies)},
        )
        results.probes_folder = folder / "probes"
        return results

    @cached_property
    def probes(self) -> PaperResults | None:
        """Results of probes, in the folder `probes` beside these; None without any."""
        folder = self.probes_folder
        return None if folder is None or not any(finished_in(folder)) else PaperResults.open(folder)

    def of_corpora(self, corpora: Collection[str]) -> PaperResults:
        """The results on some corpora alone, with `unfinished` and `questions` of all."""
        cells = self.cells[self.cells["corpus"].isin(list(corpora))]
        keys = set(cells["cell"])
        tables = {
            name: rows[rows["cell"].isin(keys)] if "cell" in rows else rows
            for name, rows in self.tables.items()
        }
        summary = self.summary[self.summary["cell"].isin(keys)]
        return PaperResults(cells, summary, tables, self.unfinished, self.questions)

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
    def _rows(self) -> dict[Hashable, pd.DataFrame]:
        """(table, column) → their rows of the summary."""
        return dict(iter(self.summary.groupby(["table", "column"], sort=False, observed=True)))

    @cached_property
    def _seeds(self) -> dict[str, int]:
        """Cell → its seed."""
        return dict(zip(self.cells["cell"], self.cells["seed"], strict=True))

    def select(self, **where: Any) -> pd.DataFrame:
        """The cells of a configuration: rows of `cells`, each cell once, by seed."""
        key = tuple((column, _several(option)) for column, option in where.items())
        if key not in self._selected:
            chosen = np.ones(len(self.cells), dtype=bool)
            for column, values in key:
                chosen &= (
                    _among(self.cells[column], values) if column in self.cells else None in values
                )
            cells = self.cells[chosen].drop_duplicates("cell")
            self._selected[key] = cells.sort_values("seed", kind="stable")
        return self._selected[key]

    def corpora(self, **where: Any) -> list[str]:
        """Names of the corpora of selected cells, in the order of these."""
        return [str(name) for name in dict.fromkeys(self.select(**where)["corpus"])]

    def find(self, table: str, row: str, column: str, **where: Any) -> SeedMean | None:
        """A number of the summary, by ids of its table, row and column, over seeds of one model.

        Returns:
            The mean over seeds, percents of 100; None if no cell has a value.

        Raises:
            VeraxError: two of the cells have the same seed, so that `where` names several models.
        """
        numbers = self._numbers.get((table, row, column), {})
        chosen = self.select(**where)
        cells = [key for key in chosen["cell"] if key in numbers]
        if not cells:
            return None
        if len({self._seeds[key] for key in cells}) < len(cells):
            _refuse_mixtures(chosen[chosen["cell"].isin(cells)], where)
        values, lows, highs, ns = zip(*(numbers[key] for key in cells), strict=True)
        # of one seed alone, the one that has a value
        single = next((i for i, value in enumerate(values) if not math.isnan(value)), None)
        if single is None:
            return None
        return SeedMean.of(values, cells, max(ns), (lows[single], highs[single]))

    def fact(self, column: str, **where: Any) -> SeedMean | None:
        """A column of `cells`, such as test_accuracy, over the seeds of one model.

        It has no interval over documents. None if no cell has a value.
        """
        chosen = self.select(**where)
        if chosen.empty or column not in chosen:
            return None
        _refuse_mixtures(chosen, where)
        number = SeedMean.of(chosen[column].astype(float).tolist(), chosen["cell"].tolist())
        return None if math.isnan(number.value) else number

    def described(self, column: str, **where: Any) -> SeedMean | None:
        """A number of corpora.csv, of the corpus of selected cells as they read it.

        It comes with one of the cells. None if nothing is known of their corpus.
        """
        table, chosen = self.tables.get(CORPORA), self.select(**where)
        if table is None or chosen.empty:
            return None
        cell = chosen.iloc[0]
        for name in DESCRIBED_BY:
            table = table[_among(table[name], (cell.get(name),))]
        if table.empty:
            return None
        return SeedMean.of([float(table.iloc[0][column])], [str(cell["cell"])])

    def kept(self, table: str, **where: Any) -> list[dict[Hashable, Any]]:
        """The rows in one of `tables` of the first selected cell that has any."""
        rows = self.tables.get(table, pd.DataFrame({"cell": []}))
        known = set(rows["cell"])
        first = next((key for key in self.select(**where)["cell"] if key in known), None)
        return rows[rows["cell"] == first].to_dict("records")

    def rows(self, table: str, column: str, **where: Any) -> list[str]:
        """Ids of the rows of a summary table that selected cells have, in the summary's order."""
        rows = self._rows.get((table, column), pd.DataFrame({"cell": [], "row": []}))
        chosen = rows["cell"].isin(set(self.select(**where)["cell"]))
        return [str(row) for row in rows.loc[chosen, "row"].unique()]


def _several(option: Any) -> tuple[Any, ...]:
    """The values that an option of `select` allows."""
    several = isinstance(option, Collection) and not isinstance(option, str)
    return tuple(option) if several else (option,)


def _among(column: pd.Series, values: tuple[Any, ...]) -> pd.Series:
    """Where a column has one of some values; None and NaN are where it has none."""
    known = [value for value in values if not pd.isna(value)]
    return column.isin(known) | (column.isna() & (len(known) < len(values)))


def _refuse_mixtures(chosen: pd.DataFrame, where: Mapping[str, Any]) -> None:
    if chosen["seed"].duplicated().any():
        texts = chosen.drop(columns=_NOT_OPTIONS, errors="ignore").astype(str)
        differing = ", ".join(str(name) for name in texts if texts[name].nunique(dropna=False) > 1)
        raise VeraxError(
            f"cells of {where} are of several models: they differ in "
            f"{differing or 'nothing but the part'}",
            code="result.wrong-kind",
        )


_NOT_OPTIONS = [
    *("cell", "part", "seed", "seconds", "seconds_train", "seconds_examine", "started"),
    *("finished", "test_accuracy", "test_f1", "test_macro_f1", "test_roc_auc", "test_loss"),
    *("commit", "device", "strength_chosen"),
]


POINTS = "delta_js_points"
"""The table of points of scatter plots, which `research.papers.packing` thins."""
CORPORA = "corpora.csv"
"""The file of sizes, lengths and vocabularies, which `research.papers.describing` writes."""
DESCRIBED_BY = ("fingerprint", "tokenizer", "min_df", "max_vocabulary")
"""Columns of cells that decide what a row of it describes."""
KEPT = ("single_token_tokens",)
"""Tables of single documents that figures draw, packed for the parts in `Paper.kept`."""


def read_points(path: Path) -> pd.DataFrame:
    """The points of single documents that a paper's results keep beside its studies."""
    try:
        return pd.read_parquet(path, columns=["cell", "id", "delta_alpha", "delta_js"])
    except (OSError, ValueError) as error:
        raise VeraxError(
            f"cannot read {path}: {error}; pack the results again", code="result.damaged"
        ) from error


def is_study(folder: Path) -> bool:
    """Whether a folder is a study, packed or not."""
    return any((folder / name).exists() for name in ("cells.parquet", "store.json"))


def studies_in(folder: Path) -> list[Path]:
    """The studies right below a folder, or the folder itself if it is one."""
    if is_study(folder):
        return [folder]
    return [path for path in sorted(folder.glob("*/")) if is_study(path)]


def finished_in(folder: Path) -> Iterator[tuple[StudyResults, str]]:
    """Every finished cell of the studies in a folder: its study, and its key."""
    for path in studies_in(folder):
        study = open_study(path, every=True)
        yield from ((study, key) for key in study.done)


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
