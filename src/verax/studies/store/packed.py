"""A packed study: a few Parquet files that hold all of a store, every row with its cell's key.

    cells.parquet      a row a cell: configuration, config, manifest, verdict and failure as JSON
    summary.parquet    all summaries; history.parquet all histories
    instances.parquet  all other tables, `table` saying which
    models.parquet     cell, file and its bytes, where weights were packed

Rows stand table by table, in each by the order of cells. `cells.parquet` says how many rows each
has of which shape (`verax.studies.store.shapes`), and has the study itself in its metadata.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from verax.errors import VeraxError
from verax.studies.store.cells import KEY
from verax.studies.store.folders import StorageFolder, storage_folder
from verax.studies.store.manifests import FORMAT, MODEL, is_inside
from verax.studies.store.shapes import empty_of, restored
from verax.studies.store.sources import CellState

PACKED = 2
"""The format of packed studies; scripts/migrate_results.py makes it of format 1."""
CELLS, INSTANCES, MODELS = "cells", "instances", "models"
ALONE = ("summary", "history")
"""Tables that have a file of their own."""
FIRST = f"{CELLS}.parquet"
FILES = [f"{name}.parquet" for name in (CELLS, *ALONE, INSTANCES, MODELS)]
ABOUT = b"verax.study"
_TRUST = "it was not made by verax pack, or was changed since"


def file_of(table: str) -> str:
    return table if table in ALONE else INSTANCES


def is_packed(where: StorageFolder) -> bool:
    """Whether a folder holds a packed study."""
    return about_packed(where) is not None


def is_only_packed(folder: Path) -> bool:
    """Whether it holds nothing else, so that it may be replaced."""
    return {p.name for p in folder.iterdir()} <= set(FILES) and is_packed(storage_folder(folder))


class PackedSource:
    """A packed study, read without unpacking it."""

    def __init__(self, where: StorageFolder) -> None:
        about = about_packed(where)
        if about is None:
            raise VeraxError(
                f"{where.shown} is not a packed study, or its {FIRST} is damaged: expected a "
                "folder that verax pack wrote"
            )
        self.shown, self._folder = where.shown, where
        self.store: Mapping[str, Any] = about.get("store", {})
        self._refuse_format(about.get("packed"))
        self.format = int(self.store["format"])
        self.study: str = about["study"]
        self.resolved: Mapping[str, Any] = about["resolved"]
        self._shapes = [(base64.b64decode(s["shape"]), s["columns"]) for s in about["shapes"]]
        self._read_cells()

    def _refuse_format(self, packed: Any) -> None:
        if (packed, self.store.get("format")) == (PACKED, FORMAT):
            return
        todo = "unpack it with that one"
        if packed == 1:
            todo = "run python scripts/migrate_results.py on its folder"
        raise VeraxError(
            f"{self.shown} was packed by another Verax ({self.store.get('verax')}), in format "
            f"{packed!r}: this Verax reads {PACKED}; {todo}"
        )

    def _read_cells(self) -> None:
        names = ["cell", "status", "config", "manifest", "verdict", "failure", "tables"]
        with self._reading(FIRST) as file:
            rows = file.read(columns=[*names, "left_out", "others"]).to_pylist()
        self.states: dict[str, CellState] = {}
        self._verdicts: dict[str, str | None] = {}
        self._others: dict[str, Mapping[str, str]] = {}
        self._where: dict[str, dict[str, tuple[int, int, int]]] = {}
        counts: dict[str, dict[str, tuple[int, int]]] = {}
        for row in rows:
            key = row["cell"]
            if not KEY.fullmatch(key):
                raise VeraxError(f"{self.shown} names a cell {key!r}, which is no key: {_TRUST}")
            counts[key] = {t: (n, s) for t, (n, s) in json.loads(row["tables"] or "{}").items()}
            self._verdicts[key] = row["verdict"]
            self._others[key] = json.loads(row["others"] or "{}")
            for name in (*counts[key], *self._others[key]):
                self._refuse_outside(name)
            self.states[key] = CellState(
                row["status"],
                json.loads(row["config"]),
                json.loads(row["manifest"] or "{}"),
                sorted(counts[key]),
                failure=None if row["failure"] is None else json.loads(row["failure"]),
                left_out=json.loads(row["left_out"] or "[]"),
            )
        starts = dict.fromkeys((*ALONE, INSTANCES), 0)
        for table in sorted({t for found in counts.values() for t in found}):
            for key, found in counts.items():
                if table in found:
                    number, shape = found[table]
                    start = starts[file_of(table)]
                    starts[file_of(table)] += number
                    self._where.setdefault(key, {})[table] = (start, number, shape)

    def tables(self, name: str, keys: Sequence[str]) -> Iterator[tuple[str, pa.Table]]:
        with self.rows(name) as rows:
            for key in keys:
                if name in self._where.get(key, {}):
                    yield key, self.table(key, name, rows)

    def rows(self, table: str) -> Rows:
        """The file that holds a table, to read rows of."""
        return Rows(self._reading(f"{file_of(table)}.parquet"))

    def table(self, key: str, name: str, rows: Rows) -> pa.Table:
        start, number, shape = self._where[key][name]
        data, columns = self._shapes[shape]
        labels = {"cell": key} if name in ALONE else {"cell": key, "table": name}
        stored = rows.read(start, number, sorted({*labels, *columns.values()}))
        for label, value in labels.items():
            if number and stored.column(label).unique().to_pylist() != [value]:
                raise VeraxError(
                    f"{file_of(name)}.parquet of {self.shown} does not belong to its {FIRST}: "
                    "pack the study again, or get another copy"
                )
        return restored(stored, empty_of(data), columns, key)

    def verdict(self, key: str) -> Mapping[str, Any]:
        return dict(json.loads(self.verdict_text(key) or "{}"))

    def verdict_text(self, key: str) -> str | None:
        return self._verdicts[key]

    def others(self, key: str) -> dict[str, bytes]:
        """Files that are neither tables, nor the verdict's, nor the model's."""
        return {name: base64.b64decode(text) for name, text in self._others[key].items()}

    def model(self, key: str) -> dict[str, bytes]:
        if not self._folder.exists(f"{MODELS}.parquet"):
            return {}
        with self._reading(f"{MODELS}.parquet") as file:
            for group in range(file.num_row_groups):
                # a group is a cell, and its weights are much to read
                if file.read_row_group(group, columns=["cell"]).column(0)[0].as_py() == key:
                    found = file.read_row_group(group, columns=["file", "bytes"]).to_pylist()
                    for row in found:
                        self._refuse_outside(f"{MODEL}/{row['file']}")
                    return {row["file"]: row["bytes"] for row in found}
        return {}

    def _refuse_outside(self, name: str) -> None:
        if not is_inside(name):
            raise VeraxError(f"{self.shown} names a file {name!r} outside of its cell: {_TRUST}")

    def _reading(self, name: str) -> _Opened:
        return _Opened(self._folder, name)


class _Opened:
    """A Parquet file of a packed study; what cannot be read is an error that names it."""

    def __init__(self, where: StorageFolder, name: str) -> None:
        self._folder, self._name = where, name

    def __enter__(self) -> Any:
        try:
            self._file = parquet.ParquetFile(
                self._folder.open(self._name), page_checksum_verification=True
            )
        except (OSError, pa.ArrowException) as error:
            raise self.damaged() from error
        return self._file

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        self._file.close(force=True)
        if isinstance(error, (OSError, pa.ArrowException)):
            raise self.damaged() from error

    def damaged(self) -> VeraxError:
        return VeraxError(
            f"{self._name} of {self._folder.shown} is missing or damaged: pack the study again, or "
            "get another copy"
        )


class Rows:
    """Rows of a Parquet file by number, the last row group kept: its next rows are often asked."""

    def __init__(self, opening: _Opened) -> None:
        self._opening = opening

    def __enter__(self) -> Rows:
        self._file = self._opening.__enter__()
        about = self._file.metadata
        sizes = [about.row_group(n).num_rows for n in range(about.num_row_groups)]
        self._starts = np.cumsum([0, *sizes])
        self._kept: tuple[Any, pa.Table] | None = None
        return self

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        self._kept = None
        self._opening.__exit__(kind, error, trace)

    def read(self, start: int, number: int, columns: list[str]) -> pa.Table:
        try:
            return self._read(start, number, columns)
        except (OSError, pa.ArrowException, KeyError) as error:
            raise self._opening.damaged() from error

    def _read(self, start: int, number: int, columns: list[str]) -> pa.Table:
        if start + number > self._starts[-1]:
            raise OSError("rows are missing")
        first = int(np.searchsorted(self._starts, start, side="right")) - 1
        last = int(np.searchsorted(self._starts, start + number, side="left"))
        if number == 0:
            return self._file.schema_arrow.empty_table().select(columns)
        wanted = (first, last, columns)
        if self._kept is None or self._kept[0] != wanted:
            self._kept = (wanted, self._file.read_row_groups(range(first, last), columns=columns))
        return self._kept[1].slice(start - int(self._starts[first]), number)


def about_packed(where: StorageFolder) -> dict[str, Any] | None:
    """What a packed study says of itself; None where a folder holds none."""
    if not where.exists(FIRST):
        return None
    try:
        with where.open(FIRST) as file:
            found = (parquet.read_schema(file).metadata or {}).get(ABOUT)
        return None if found is None else dict(json.loads(found))
    except (OSError, ValueError, pa.ArrowException):
        return None
