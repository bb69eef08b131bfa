"""`open_study` and `open_grid`: what finished cells hold, as tables over all of them."""

from __future__ import annotations

import json
import os
import tempfile
import warnings
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from verax.errors import VeraxError, VeraxWarning, nearest
from verax.exams.bounds import bounds
from verax.exams.described import check_together, columns_of
from verax.exams.judgement.judgement import Judgement, judge
from verax.exams.judgement.limits import LimitSet
from verax.exams.verdict import Verdict
from verax.models.classifier import AttentionClassifier
from verax.models.saving import FILES, load
from verax.results import Shown
from verax.schema import Columns, SchemaError
from verax.statistics import SeedMean
from verax.studies.adversaries import COLUMNS as OF_ADVERSARIES
from verax.studies.adversaries import NAME as ADVERSARIES
from verax.studies.adversaries import Adversaries, check_instances, stored_adversaries
from verax.studies.function_cell import VALUES
from verax.studies.grid.cell import Cell
from verax.studies.store.archive import open_source
from verax.studies.store.folders import StorageFolder, storage_folder
from verax.studies.store.store import (
    DAMAGED,
    DONE,
    FAILED,
    MISSING,
    MODEL,
    CellState,
    Source,
    damaged_cell,
)
from verax.studies.store.tables import equal, fact_columns, frame_of, repeated, to_frame, unlabelled

ALWAYS = ("corpus", "seed")
"""Configuration that every table has, whether it varies or not."""
_FOLLOWS = {"fingerprint"}
"""Differs where the corpus does, and tells a reader nothing more."""


def open_study(
    folder: str | os.PathLike[str] | StorageFolder,
    *further: str | os.PathLike[str] | StorageFolder,
    filesystem: Any = None,
    every: bool = False,
) -> StudyResults:
    """Open the results of a study, packed or not, as they are now.

    Args:
        folder: a path, a URL such as s3://bucket/study, or a path in `filesystem`.
        further: more folders, whose cells are added. A cell that several folders have counts once.
        filesystem: an object of fsspec or of pyarrow.fs.
        every: also take cells of the folder that the study does not list any more.

    Returns:
        Its cells, tables, verdicts and models.
    """
    sources = [open_source(storage_folder(one, filesystem)) for one in (folder, *further)]
    for source in sources:
        if "function" in source.resolved:
            raise VeraxError(
                f"{source.shown} holds a grid of a function: open it with verax.open_grid",
                code="result.wrong-kind",
            )
    return StudyResults(Source.joined(sources) if further else sources[0], every)


def open_grid(
    folder: str | os.PathLike[str] | StorageFolder, filesystem: Any = None
) -> GridResults:
    """Open what `run_grid` stored in a folder.

    Args:
        folder: a path, a URL, or a path in `filesystem`.
        filesystem: an fsspec or pyarrow filesystem.

    Returns:
        The cells of the last run.
    """
    source = open_source(storage_folder(folder, filesystem))
    if "function" not in source.resolved:
        raise VeraxError(
            f"{source.shown} holds a study: open it with verax.open_study", code="result.wrong-kind"
        )
    return GridResults(source)


def open_results(folder: str | os.PathLike[str]) -> StudyResults | GridResults:
    """Open the results of a study or of a grid, packed or not."""
    source = open_source(storage_folder(folder))
    return GridResults(source) if "function" in source.resolved else StudyResults(source)


class Results:
    """The cells of a study or of a grid. Damaged ones have no results; another run makes them."""

    def __init__(self, source: Source, states: Mapping[str, CellState]) -> None:
        self._source = source
        self._states = states

    def __repr__(self) -> str:
        parts = [f"{number:,} {status}" for status, number in self.counts.items()]
        parts += self._remarks()
        return f"{type(self).__name__}({self.name}: {', '.join(parts) or 'no cells'})"

    def _remarks(self) -> list[str]:
        left_out = len(self.left_out)
        return [f"packed without {left_out} tables"] if left_out else []

    @property
    def name(self) -> str:
        """The name of the study, or of the function."""
        return str(self._source.resolved["name"])

    @property
    def left_out(self) -> list[str]:
        """Tables (and `model`) that cells had before they were packed without them."""
        return sorted({name for state in self._states.values() for name in state.left_out})

    @property
    def counts(self) -> dict[str, int]:
        """How many cells are done, failed, damaged and missing; only those that occur."""
        counts = Counter(state.status for state in self._states.values())
        return {s: counts[s] for s in (DONE, FAILED, DAMAGED, MISSING) if counts[s]}

    @property
    def done(self) -> list[str]:
        """The keys of finished cells, in the order of the study or grid."""
        return [key for key, state in self._states.items() if state.status == DONE]

    @property
    def tables(self) -> list[str]:
        """The names of all tables."""
        return sorted({name for key in self.done for name in self._states[key].tables})

    def facts(self, key: str) -> Mapping[str, Any]:
        """Versions, commit, device, seconds and scores of a finished cell."""
        return self._done(key).facts

    def _rows(self, name: str) -> tuple[pd.DataFrame, pd.Series]:
        """The rows of a table of all finished cells that have it, and the key of each row."""
        if name not in self.tables:
            if name in self.left_out:
                raise VeraxError(
                    f"table {name!r} was left out when {self.name} was packed",
                    code="study.not-kept",
                )
            if not self.tables:
                raise VeraxError(
                    f"{self._source.shown} has no finished cell with a table yet: run it again",
                    code="result.unfinished",
                )
            raise VeraxError(
                f"unknown table {name!r}: {nearest(name, self.tables)}", code="result.unknown-name"
            )
        if damaged := self.counts.get(DAMAGED, 0):
            message = f"{damaged} damaged cells of {self.name} are left out: run it again"
            warnings.warn(message, VeraxWarning, stacklevel=3)
        keys = [key for key in self.done if name in self._states[key].tables]
        try:
            parts = [unlabelled(self._source.table(key, name)) for key in keys]
            table = pa.concat_tables(parts, promote_options="permissive")
        except (pa.ArrowException, KeyError) as error:
            raise VeraxError(
                f"table {name!r} has columns of different kinds in different cells: read them one "
                "by one",
                code="result.incomparable",
            ) from error
        frame: pd.DataFrame = table.unify_dictionaries().to_pandas(ignore_metadata=True)
        lengths = [len(part) for part in parts]
        return frame, pd.Series(np.repeat(np.array(keys, dtype=object), lengths), dtype="str")

    def _done(self, key: str) -> CellState:
        state = self._states.get(key)
        if state is None:
            near = nearest(key, self.done) if self.done else "it has no finished cell"
            raise VeraxError(
                f"no cell {key!r} in {self._source.shown}: {near}", code="result.unknown-name"
            )
        if state.status != DONE:
            why = f" ({_error(state)})" if _error(state) else ""
            raise VeraxError(
                f"cell {key} is {state.status}{why}: run {self.name} again to have it",
                code="result.unfinished",
            )
        return state


class StudyResults(Results, Shown):
    """A study's cells, tables, verdicts and models. Damaged cells have none; a rerun makes them."""

    def __init__(self, source: Source, every: bool = False) -> None:
        listed = source.resolved["cells"]
        states = {k: s for k, s in source.states.items() if every or k in listed}
        super().__init__(source, states)
        self.others = len(source.states) - len(states)
        """Cells of the folder that are not of the study as it was last run."""

    def _remarks(self) -> list[str]:
        others = [f"{self.others:,} of other seeds or options left out"] if self.others else []
        return [*others, *super()._remarks()]

    @property
    def question(self) -> str | None:
        question = self._source.resolved.get("question")
        return None if question is None else str(question)

    @property
    def format(self) -> int:
        return int(self._source.about["format"])

    @cached_property
    def _configuration(self) -> pd.DataFrame:
        return frame_of([{"cell": key, **_columns(state)} for key, state in self._states.items()])

    @property
    def cells(self) -> pd.DataFrame:
        """A row a cell: cell, status, its configuration, seconds, verax, device, …, error."""
        states = self._states.values()
        cells = self._configuration.copy()
        if cells.empty:
            return pd.DataFrame(columns=["cell", "status"])
        cells.insert(1, "status", [state.status for state in states])
        facts = frame_of([{"seconds": None, **fact_columns(s.facts)} for s in states])
        errors = frame_of([{"error": _error(state)} for state in states])
        return pd.concat([cells, facts, errors], axis=1)

    @property
    def failures(self) -> pd.DataFrame:
        """A row a failed cell: cell, its configuration that varies, reason, error, traceback, …"""
        failed = {k: s.failure or {} for k, s in self._states.items() if s.status == FAILED}
        if not failed:
            return pd.DataFrame(columns=["cell", *ALWAYS, "reason", "error", "code", "traceback"])
        cells = self._configuration.set_index("cell").loc[[*failed], self._varying()].reset_index()
        records = [{n: v for n, v in r.items() if n not in cells} for r in failed.values()]
        return pd.concat([cells, frame_of(records)], axis=1)

    def summary(self, columns: str | Sequence[str] | None = None) -> pd.DataFrame:
        """Every number of every cell's verdict with its interval."""
        return self.table("summary", columns)

    def numbers(
        self, id: str, by: str | Sequence[str] | None = None, **where: Any
    ) -> dict[tuple[Any, ...], SeedMean]:
        """Return the mean over seeds of a number, for each configuration.

        Args:
            id: of the number, as `verax exams --ids` lists it, with the id of a row in place of
                `*`: "replacement.uniform.delta_f1".
            by: the columns of the configuration that make a group; by default those in which the
                chosen cells differ, but for the seed.
            where: columns and their values, as `select` takes them.

        Returns:
            The values of the columns of `by` → the mean with its interval (that of
            `SeedMean.of_intervals`, which judgements go by) and the keys of its cells.

        Raises:
            VeraxError: no chosen cell has the number, or two cells of a group have the same seed.
        """
        keys = self.select(**where)
        summary = self.summary([])
        parts = (summary[name].astype(str) for name in ("table", "row", "column"))
        ids = [".".join(part) for part in zip(*parts, strict=True)]
        rows = summary[np.array(ids, dtype=object) == id].drop_duplicates("cell").set_index("cell")
        keys = [key for key in keys if key in rows.index]
        if not keys:
            raise VeraxError(
                f"no cell has a number {id!r}: {nearest(id, set(ids))}", code="result.unknown-name"
            )
        cells = self._configuration.set_index("cell").loc[keys]
        if by is None:
            by = [name for name in self.differing(keys) if name not in ("seed", *_FOLLOWS)]
        names = [by] if isinstance(by, str) else list(by)
        for name in names:
            if name not in cells:
                raise VeraxError(
                    f"unknown column {name!r}: {nearest(name, cells.columns)}",
                    code="result.unknown-name",
                )
        groups: dict[tuple[Any, ...], list[str]] = {}
        for key in cells.sort_values("seed", kind="stable").index:
            values: Iterator[Any] = (cells.at[key, name] for name in names)
            group = tuple(None if pd.isna(value) else value for value in values)
            groups.setdefault(group, []).append(key)
        found = {}
        for group, own in groups.items():
            if cells.loc[own, "seed"].duplicated().any():
                differing = ", ".join(n for n in self.differing(own) if n != "seed")
                raise VeraxError(
                    f"cells of one group have the same seed: they differ in {differing}; name it "
                    "in by, or choose one of its values",
                    code="result.incomparable",
                )
            chosen = rows.loc[own]
            valued, *ends = (chosen[n].astype(float).tolist() for n in ("value", "low", "high"))
            found[group] = SeedMean.of_intervals(
                valued, list(zip(*ends, strict=True)), bounds(id), own, int(chosen["n"].max())
            )
        return found

    def summary_of(self, key: str) -> pd.DataFrame:
        """Every number of one cell's verdict with its interval."""
        self._done(key)
        return self._frame(key, "summary")

    def cell(self, key: str) -> Cell:
        """The configuration of a finished cell: its model can be trained again from it."""
        return Cell.from_json(self._done(key).config)

    def judgements(
        self, limits: str | Path | Mapping[str, Any] | LimitSet | None = None
    ) -> dict[str, Judgement]:
        """Return the judgement of each configuration's attention, over its seeds, by its name.

        Args:
            limits: thresholds, as `Verdict.judge` takes them; the newest, unless given.
        """
        from verax.studies.summaries import model_summaries

        return {model.name: judge(model, limits) for model in model_summaries(self)}

    def history(self, columns: str | Sequence[str] | None = None) -> pd.DataFrame:
        """Every epoch of every cell's training."""
        return self.table("history", columns)

    def table(self, name: str, columns: str | Sequence[str] | None = None) -> pd.DataFrame:
        """A table over all finished cells that have it, with their configuration as columns.

        By default these are `cell`, corpus, seed and what varies over the study's cells; "all" is
        every one, and a list names them. Text is categorical. Where the table has a column of the
        same name (a history's `lr` is an epoch's), the configuration's is called `cell_lr`.
        """
        added = self._added(columns)
        frame, keys = self._rows(name)
        configuration = self._configuration.set_index("cell").loc[keys.unique()]
        rows = configuration.index.get_indexer(pd.Index(keys))
        configuration.insert(0, "cell", configuration.index.astype("str"))
        for position, column in enumerate(["cell", *added]):
            shown = f"cell_{column}" if column in frame else column
            frame.insert(position, shown, repeated(configuration[column], rows))
        return frame

    def verdict(self, key: str) -> Verdict:
        """What a cell's examination found, as `verax.examine` gave it."""
        state = self._done(key)
        if lacking := [name for name in state.left_out if name != MODEL]:
            raise VeraxError(
                f"cell {key} was packed without {', '.join(lacking)}: pack the study again with "
                "all tables to have verdicts",
                code="study.not-kept",
            )
        manifest = self._source.verdict(key)
        frames = {name: self._frame(key, name) for name in (*manifest["tables"], "summary")}
        summary = frames.pop("summary")
        try:
            check_together(frames, manifest)
        except SchemaError as error:
            raise damaged_cell(key, self._source.shown, str(error)) from error
        return Verdict(frames, manifest, summary)

    def manifest(self, key: str) -> Mapping[str, Any]:
        """What was examined in a cell and how: its verdict's manifest.

        Packed studies have it even where they were packed without the verdict's tables.
        """
        self._done(key)
        return self._source.verdict(key)

    def verdicts(self, **where: Any) -> dict[str, Verdict]:
        """Verdicts of finished cells by key: all, or those of a configuration.

        `verdicts(corpus="sst", grounding=["none", "tying"])`: a list means any of its values.
        """
        return {key: self.verdict(key) for key in self.select(**where)}

    def select(self, **where: Any) -> list[str]:
        """The keys of finished cells of a configuration, as `verdicts` takes it."""
        chosen = self._configuration
        for column, allowed in where.items():
            if column not in self._configuration:
                raise VeraxError(
                    f"unknown column {column!r}: {nearest(column, self._configuration.columns)}",
                    code="result.unknown-name",
                )
            several = isinstance(allowed, Collection) and not isinstance(allowed, str)
            values = list(allowed) if several else [allowed]
            every = self._configuration[column]
            for value in values:
                if not equal(every, value).any():
                    known = ", ".join(str(v) for v in every.drop_duplicates())
                    raise VeraxError(
                        f"no cell has {column} {value!r}: there are {known}",
                        code="result.unknown-name",
                    )
            matches = [equal(chosen[column], value) for value in values]
            chosen = chosen[np.logical_or.reduce(matches)] if matches else chosen[:0]
        wanted = set(chosen["cell"])
        return [key for key in self.done if key in wanted]

    def adversaries(self, key: str) -> Adversaries:
        """The adversaries that were trained against a cell's model, as `verax.adversaries` has
        them.

        Args:
            key: of a finished cell of a study with `adversaries`.
        """
        state = self._done(key)
        if state.config.get("adversaries") is None:
            raise VeraxError(
                f"cell {key} has no adversaries: ask for them in the study", code="study.not-kept"
            )
        if ADVERSARIES in state.left_out:
            raise VeraxError(
                f"cell {key} was packed without its {ADVERSARIES}: pack the study again with them",
                code="study.not-kept",
            )
        instances, about = self._frame(key, ADVERSARIES), self._source.verdict(key)
        try:
            check_instances(instances, str(state.config.get("split", "test")))
            return stored_adversaries(
                instances, state.config, about, int(state.facts["max_tokens"])
            )
        except (SchemaError, KeyError, TypeError) as error:
            raise damaged_cell(key, self._source.shown, f"its adversaries: {error}") from error

    def differing(self, keys: Iterable[str]) -> list[str]:
        """The columns of the configuration in which these cells differ."""
        cells = self._configuration.set_index("cell").loc[list(keys)]
        return [str(name) for name in cells if cells[name].nunique(dropna=False) > 1]

    def model(self, key: str, device: str = "auto") -> AttentionClassifier:
        """A cell's trained model, where weights were kept."""
        state = self._done(key)
        files = self._source.model(key)
        if not files and MODEL in state.left_out:
            raise VeraxError(
                f"cell {key} was packed without its model: pack it with weights",
                code="study.not-kept",
            )
        if not FILES.issubset(files):
            raise VeraxError(
                f"the model of cell {key} was not kept: set weights: true in the study, and run it "
                "in a new folder",
                code="study.not-kept",
            )
        with tempfile.TemporaryDirectory() as folder:
            for name in FILES:
                (Path(folder) / name).write_bytes(files[name])
            return load(folder, device=device)

    def _frame(self, key: str, name: str) -> pd.DataFrame:
        if name not in self._states[key].tables:
            raise VeraxError(
                f"cell {key} of {self._source.shown} has no table {name!r}",
                code="result.unknown-name",
            )
        try:
            return _checked_frame(self._source.table(key, name), name, key)
        except SchemaError as error:
            raise damaged_cell(key, self._source.shown, str(error)) from error

    def _varying(self) -> list[str]:
        """corpus, seed, and columns of which not all cells have the same value."""
        others = self.differing(key for key, state in self._states.items() if state.config)
        return [*ALWAYS, *(name for name in others if name not in (*ALWAYS, *_FOLLOWS))]

    def _added(self, columns: str | Sequence[str] | None) -> list[str]:
        known = [str(name) for name in self._configuration if name != "cell"]
        if columns is None:
            return self._varying()
        if columns == "all":
            return known
        names = [columns] if isinstance(columns, str) else list(columns)
        for name in names:
            if name not in known:
                raise VeraxError(
                    f"unknown column {name!r}: {nearest(name, known)}", code="result.unknown-name"
                )
        return names


class GridResults(Results):
    """What a function returned for each configuration of a grid."""

    def __init__(self, source: Source) -> None:
        super().__init__(source, {key: source.states[key] for key in source.resolved["cells"]})

    @property
    def cells(self) -> pd.DataFrame:
        """One row per cell: key, status, its configuration, its values, and an error.

        Nested values are JSON. A value that has the name of an option is called `value_NAME`.
        `error` is there if a cell failed.
        """
        rows = []
        for key, state in self._states.items():
            row: dict[str, Any] = {"key": key, "status": state.status}
            row |= {n: v for n, v in self.config(key).items() if n not in row}
            if state.status == DONE:
                for name, value in self.values(key).items():
                    row[f"value_{name}" if name in row else name] = value
            elif state.failure is not None:
                row["error"] = state.failure.get("error")
            rows.append(row)
        return frame_of(rows) if rows else pd.DataFrame(columns=["key", "status"])

    @property
    def failures(self) -> dict[str, Mapping[str, Any]]:
        """The record of each failed cell, by its key: reason, error, traceback."""
        return {k: s.failure or {} for k, s in self._states.items() if s.status == FAILED}

    def table(self, name: str) -> pd.DataFrame:
        """The rows of a table of all finished cells; the column `cell` has the key of each.

        Args:
            name: the name under which the function returned the DataFrame.
        """
        frame, keys = self._rows(name)
        frame.insert(0, "cell", keys)
        return frame

    def config(self, key: str) -> dict[str, Any]:
        """The configuration of a cell."""
        if key not in self._states:
            self._done(key)
        return dict(self._states[key].config.get("config", {}))

    def values(self, key: str) -> dict[str, Any]:
        """What the function returned for a cell, apart from tables and files."""
        return dict(json.loads(self.file(key, VALUES)))

    def files(self, key: str) -> list[str]:
        """The names of a cell's files, apart from tables."""
        self._done(key)
        names = self._source.files(key)
        return [name for name in names if name != VALUES and not name.endswith(".parquet")]

    def file(self, key: str, name: str) -> bytes:
        """The contents of a cell's file."""
        self._done(key)
        if name not in self._source.files(key):
            raise VeraxError(f"cell {key} has no file {name!r}", code="result.unknown-name")
        return self._source.file(key, name)


def _columns(state: CellState) -> dict[str, Any]:
    """The configuration of a cell, which is not known if its manifest was lost."""
    return Cell.from_json(state.config).columns() if state.config else {}


def _error(state: CellState) -> str | None:
    """One line on what went wrong."""
    if state.failure is not None:
        parts = (str(state.failure.get(name) or "") for name in ("reason", "error"))
        return " ".join(": ".join(part for part in parts if part).split())
    return state.wrong


_HISTORY = Columns.of(whole="epoch", key=("epoch",))
_NO_TABLE = (pa.ArrowException, ValueError, LookupError, TypeError, AttributeError)


def _checked_frame(table: pa.Table, name: str, key: str) -> pd.DataFrame:
    """A cell's table without its key; `SchemaError` if it is another's, or not as it should be."""
    where = f"{name}.parquet"
    try:
        frame = to_frame(table)
    except _NO_TABLE as error:
        first = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise SchemaError(f"{where} is no table: {first:.200}") from error
    if "cell" not in frame or not (frame["cell"].astype(object) == key).all():
        raise SchemaError(f"{where} is of another cell")
    frame = frame.drop(columns="cell")
    schemas = {"history": _HISTORY, ADVERSARIES: OF_ADVERSARIES["instances"]}
    (schemas[name] if name in schemas else columns_of(name)).check(frame, where)
    return frame
