"""A packed study: a few Parquet files that hold all of a store, every row with its cell's key.

    cells.parquet      a row a cell: configuration, config, manifest, verdict and failure as JSON
    summary.parquet    all summaries; history.parquet all histories
    instances.parquet  all other tables, `table` saying which
    models.parquet     cell, file and its bytes, where weights were packed

Rows stand table by table, in each by the order of cells. `cells.parquet` has the number of rows
and the shape (`verax.studies.store.tables`) of each, and the study itself in its metadata.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from verax.errors import VeraxError
from verax.schema import SchemaError, checked_json, choice, parse_json
from verax.studies.function_cell import check_cell
from verax.studies.store import saved
from verax.studies.store.cells import FORMAT, KEY, MODEL, VERDICT, is_inside
from verax.studies.store.folders import StorageFolder, storage_folder
from verax.studies.store.sources import DAMAGED, DONE, FAILED, MISSING, CellState
from verax.studies.store.tables import restored

PACKED = 2
"""The format of packed studies."""
CELLS, INSTANCES, MODELS = "cells", "instances", "models"
SINGLE = ("summary", "history")
"""Tables that have a file to themselves."""
FIRST = f"{CELLS}.parquet"
FILES = [f"{name}.parquet" for name in (CELLS, *SINGLE, INSTANCES, MODELS)]
ABOUT = b"verax.study"
_TRUST = "it was not made by verax pack, or was changed since"


def file_of(table: str) -> str:
    """The file of a packed study that holds a table, without its suffix."""
    return table if table in SINGLE else INSTANCES


def is_packed(folder: StorageFolder) -> bool:
    """Whether a folder holds a packed study."""
    return about_packed(folder) is not None


def is_only_packed(folder: Path) -> bool:
    """Whether it holds nothing else, so that it may be replaced."""
    names = {path.name for path in folder.iterdir()}
    return names <= set(FILES) and is_packed(storage_folder(folder))


def about_packed(folder: StorageFolder) -> dict[str, Any] | None:
    """The metadata of a packed study; None where a folder holds none."""
    if not folder.exists(FIRST):
        return None
    try:
        with folder.open(FIRST) as file:
            about = (parquet.read_schema(file).metadata or {}).get(ABOUT)
        values = None if about is None else parse_json(about)
    except (OSError, ValueError, pa.ArrowException):
        return None
    return values if isinstance(values, dict) else None


_STATUS = choice((DONE, FAILED, MISSING, DAMAGED))
_COLUMNS = {
    "manifest": saved.facts,
    "failure": saved.FAILURE,
    "tables": saved.TABLES,
    "left_out": saved.LEFT_OUT,
    "others": saved.OTHERS,
}
"""Columns of `cells.parquet` that are JSON → their schemas."""


def _checked_row(row: Mapping[str, Any], shapes: int) -> dict[str, Any]:
    """What the JSON of a row of `cells.parquet` says; `SchemaError` where it cannot be."""
    key = row["cell"]
    if not isinstance(key, str) or not KEY.fullmatch(key):
        raise SchemaError(f"it names a cell {key!r:.60}, which is no key")
    _STATUS(row["status"], f"the status of {key}")
    if not row["config"]:
        raise SchemaError(f"cell {key} has no config")
    read = {"config": parse_json(row["config"])}
    check_cell(read["config"], "config", key)
    for name, kind in _COLUMNS.items():
        if row[name]:
            read[name] = checked_json(row[name], kind, name)
    if any(shape >= shapes for _, shape in read.get("tables", {}).values()):
        raise SchemaError(f"cell {key} has a table of no shape")
    return read


def _decoded(text: str) -> bytes:
    """Bytes of base64; ValueError where it is none."""
    return base64.b64decode(text, validate=True)


class PackedSource:
    """A packed study, read without unpacking it."""

    def __init__(self, folder: StorageFolder) -> None:
        about = about_packed(folder)
        if about is None:
            raise VeraxError(
                f"{folder.shown} is not a packed study, or its {FIRST} is damaged: expected a "
                "folder that verax pack wrote",
                code="result.damaged",
            )
        self.shown, self._folder = folder.shown, folder
        store = about.get("store", {})
        self.store: Mapping[str, Any] = store if isinstance(store, dict) else {}
        self._refuse_format(about.get("packed"))
        with self._whole(FIRST):
            self._check(about)
            shapes = [(_decoded(s["shape"]), s["columns"]) for s in about["shapes"]]
        self.format = int(self.store["format"])
        self.study: str = about["study"]
        self.resolved: Mapping[str, Any] = about["resolved"]
        self._shapes = shapes
        self._group_starts: dict[str, np.ndarray] = {}
        self._last_read: dict[str, tuple[Any, pa.Table]] = {}
        self._read_cells()

    def _check(self, about: Mapping[str, Any]) -> None:
        saved.ABOUT(about, ABOUT.decode())

    def _row(self, row: Mapping[str, Any]) -> dict[str, Any]:
        return _checked_row(row, len(self._shapes))

    def _refuse_format(self, packed: Any) -> None:
        if (packed, self.store.get("format")) == (PACKED, FORMAT):
            return
        raise VeraxError(
            f"{self.shown} was packed by another Verax ({self.store.get('verax')}), in format "
            f"{packed!r:.60}: this Verax reads {PACKED}; unpack it with that one",
            code="result.other-format",
        )

    def _read_cells(self) -> None:
        as_json = ["config", "manifest", "failure", "tables", "left_out", "others"]
        with self._open(FIRST) as file:
            rows = file.read(columns=["cell", "status", "verdict", *as_json]).to_pylist()
        self.states: dict[str, CellState] = {}
        self._files: dict[str, dict[str, bytes]] = {}
        counts: dict[str, dict[str, tuple[int, int]]] = {}
        for row in rows:
            with self._whole(FIRST):
                key, read = row["cell"], self._row(row)
            counts[key] = read.get("tables", {})
            others = read.get("others", {})
            for name in (*counts[key], *others):
                self._refuse_outside(name)
            verdict = {} if row["verdict"] is None else {VERDICT: row["verdict"].encode()}
            with self._whole(FIRST):
                if key in self.states:
                    raise SchemaError(f"cell {key} is there twice")
                decoded = {name: _decoded(text) for name, text in others.items()}
            self._files[key] = verdict | decoded
            self.states[key] = CellState(
                row["status"],
                read["config"],
                read.get("manifest", {}),
                sorted(counts[key]),
                failure=read.get("failure"),
                left_out=read.get("left_out", []),
            )
        self._rows: dict[tuple[str, str], tuple[int, int, int]] = {}
        starts = dict.fromkeys((*SINGLE, INSTANCES), 0)
        for table in sorted({name for tables in counts.values() for name in tables}):
            for key in (key for key in counts if table in counts[key]):
                number, shape = counts[key][table]
                self._rows[key, table] = starts[file_of(table)], number, shape
                starts[file_of(table)] += number

    def table(self, key: str, name: str) -> pa.Table:
        """A table of a cell."""
        start, number, shape = self._rows[key, name]
        data, columns = self._shapes[shape]
        labels = {"cell": key} if name in SINGLE else {"cell": key, "table": name}
        rows = self._read(name, start, number, sorted({*labels, *columns.values()}))
        for label, value in labels.items():
            if label not in rows.schema.names or (
                number and set(map(str, rows.column(label).to_pylist())) != {value}
            ):
                raise VeraxError(
                    f"{file_of(name)}.parquet of {self.shown} does not belong to its {FIRST}: "
                    "pack the study again, or get another copy",
                    code="result.damaged",
                )
        with self._whole(f"{file_of(name)}.parquet"):
            return restored(rows, data, columns, key)

    def verdict(self, key: str) -> Mapping[str, Any]:
        with self._whole(FIRST):
            if VERDICT not in self._files[key]:
                raise SchemaError(f"cell {key} has no verdict")
            return saved.read_verdict(self._files[key][VERDICT])

    def files(self, key: str) -> dict[str, bytes]:
        """Files of a cell that are neither tables nor of its model."""
        return dict(self._files[key])

    def model(self, key: str) -> dict[str, bytes]:
        if not self._folder.exists(f"{MODELS}.parquet"):
            return {}
        with self._open(f"{MODELS}.parquet") as file:
            for group in range(file.num_row_groups):
                # a group is a cell, and its weights are much to read
                if key in file.read_row_group(group, columns=["cell"]).column(0).to_pylist()[:1]:
                    rows = file.read_row_group(group, columns=["file", "bytes"]).to_pylist()
                    for row in rows:
                        self._refuse_outside(f"{MODEL}/{row['file']}")
                        if not isinstance(row["bytes"], bytes):
                            raise OSError("a file of a model has no contents")
                    return {row["file"]: row["bytes"] for row in rows}
        return {}

    def _refuse_outside(self, name: str) -> None:
        if not is_inside(name):
            raise VeraxError(
                f"{self.shown} names a file {name!r:.60} outside of its cell: {_TRUST}",
                code="result.damaged",
            )

    @contextmanager
    def _open(self, name: str) -> Iterator[parquet.ParquetFile]:
        """A Parquet file of the study; if it cannot be read, the error names it."""
        try:
            with self._folder.open(name) as stream:
                yield parquet.ParquetFile(stream, page_checksum_verification=True)
        except (OSError, pa.ArrowException) as error:
            raise VeraxError(
                f"{name} of {self.shown} is missing or damaged: pack the study again, or get "
                "another copy",
                code="result.damaged",
            ) from error

    @contextmanager
    def _whole(self, name: str) -> Iterator[None]:
        """Within it, what does not fit the schema of a file is an error that names the file."""
        try:
            yield
        except VeraxError:
            raise
        except (pa.ArrowException, OSError, ValueError, LookupError) as error:
            first = (str(error).strip() or type(error).__name__).splitlines()[0]
            raise VeraxError(
                f"{name} of {self.shown} is damaged ({first:.200}): pack the study again, or get "
                "another copy",
                code="result.damaged",
            ) from error

    def _read(self, table: str, start: int, number: int, columns: list[str]) -> pa.Table:
        """Rows of a table. Its last row groups stay in memory: the next cell is often in them."""
        name = f"{file_of(table)}.parquet"
        if name not in self._group_starts:
            with self._open(name) as file:
                sizes = [file.metadata.row_group(n).num_rows for n in range(file.num_row_groups)]
            self._group_starts[name] = np.cumsum([0, *sizes])
        starts = self._group_starts[name]
        first = int(np.searchsorted(starts, start, side="right")) - 1
        last = int(np.searchsorted(starts, start + number, side="left"))
        request = (first, last, columns)
        if table not in self._last_read or self._last_read[table][0] != request:
            with self._open(name) as file:
                if start + number > starts[-1]:
                    raise OSError("rows are missing")
                groups = file.read_row_groups(range(first, last), columns=columns)
            self._last_read[table] = request, groups
        return self._last_read[table][1].slice(start - int(starts[first]), number)
