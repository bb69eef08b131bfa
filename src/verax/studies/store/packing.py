"""`pack`: a store as a few Parquet files, which is what travels."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
from pyarrow import parquet

from verax.errors import VeraxError, VeraxErrors, nearest
from verax.files import refuse_foreign, replace_folder
from verax.progress import Progress
from verax.studies.grid.portable import portable_study
from verax.studies.store.folders import storage_folder
from verax.studies.store.manifests import (
    CELL,
    CONFIG,
    MODEL,
    VERDICT,
    anew,
    table_file,
    tables_in,
)
from verax.studies.store.packed import (
    ABOUT,
    ALONE,
    CELLS,
    INSTANCES,
    MODELS,
    PACKED,
    file_of,
    is_only_packed,
    is_packed,
)
from verax.studies.store.results import StudyResults, open_study
from verax.studies.store.rows import arrow_rows, cell_row
from verax.studies.store.shapes import Union, shape_of
from verax.studies.store.sources import DAMAGED, DONE, CellState, StoreSource
from verax.studies.store.store import Store

GROUP = 1 << 16
"""Rows a row group has, give or take a cell's table: enough to be small, few enough to be held."""

Watch = Callable[[Iterable[Any]], Iterable[Any]]


def pack(
    folder: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    tables: Sequence[str] | None = None,
    weights: bool = False,
    filesystem: Any = None,
    progress: bool = False,
) -> StudyResults:
    """Write a study as a few Parquet files into `out`, a folder of this machine, all at once.

    `tables` names those to be packed: all, unless some are named; which were left out is kept with
    the rest. `weights` packs models too. `filesystem` is where the study is. The same store gives
    the same bytes.
    """
    if "://" in os.fspath(out):
        raise VeraxError(f"cannot pack into {out}: give a folder of this machine, and copy it")
    out = Path(out)
    refuse_foreign(out, is_only_packed)
    where = storage_folder(folder, filesystem)
    if is_packed(where):
        raise VeraxError(f"{where.shown} is packed already: give the folder of a study")
    store = Store.open(where)
    packing = Packing(store, StoreSource(store), tables, weights)
    _refuse_to_lose(out, packing)
    with Progress(progress) as display:
        replace_folder(out, lambda target: packing.write(target, display), owned=is_only_packed)
    return open_study(out)


class Named(Protocol):
    """A study as it was given."""

    @property
    def name(self) -> str: ...

    @property
    def about(self) -> Mapping[str, Any]: ...

    def text(self) -> str: ...


class Unpacked(Protocol):
    """Cells to be packed: what is known of each, its tables and its other files."""

    @property
    def shown(self) -> str: ...

    @property
    def resolved(self) -> Mapping[str, Any]: ...

    @property
    def states(self) -> Mapping[str, CellState]: ...

    def schema(self, key: str, name: str) -> pa.Schema: ...

    def table(self, key: str, name: str) -> pa.Table: ...

    def files(self, key: str) -> list[str]: ...

    def file(self, key: str, name: str) -> bytes: ...

    def model(self, key: str) -> dict[str, bytes]: ...


def _refuse_to_lose(out: Path, packing: Packing) -> None:
    """A pack may be the only copy: it is replaced by what has all of it, and by nothing else."""
    if not out.exists() or not any(out.iterdir()):
        return
    there = open_study(out)
    lost = sorted(set(there.tables) - set(packing.tables))
    if (out / f"{MODELS}.parquet").exists() and not packing.has_models:
        lost.append("weights")
    if there.name != packing.name:
        lost = [f"study {there.name!r}"]
    elif set(there.done) - set(packing.done):
        lost = [f"{len(set(there.done) - set(packing.done)):,} cells that {packing.name!r} has not"]
    if lost:
        raise VeraxError(
            f"cannot pack into {out}: it holds {', '.join(lost)}, which would be lost; give "
            "another folder, or delete it"
        )


class Packing:
    """One study on its way into files, a row group at a time."""

    def __init__(
        self, store: Named, source: Unpacked, tables: Sequence[str] | None, weights: bool
    ) -> None:
        self._store, self._source, self._weights = store, source, weights
        listed = {key: source.states[key] for key in source.resolved["cells"]}
        wrong = {key: s.wrong for key, s in listed.items() if s.status == DAMAGED}
        if wrong:
            raise VeraxErrors(str(anew(key, source.shown, str(w))) for key, w in wrong.items())
        self._cells = listed
        self._done = [key for key, state in listed.items() if state.status == DONE]
        if not self._done:
            raise VeraxError(f"{source.shown} has no finished cell: run the study, then pack it")
        there = sorted({table for key in self._done for table in listed[key].tables})
        for name in tables or ():
            if name not in there:
                raise VeraxError(f"unknown table {name!r}: {nearest(name, there)}")
        if tables is not None and not tables:
            raise VeraxError(f"no table to pack: choose from {', '.join(there)}")
        self._tables = [name for name in there if tables is None or name in tables]
        self._shapes: dict[tuple[bytes, str], int] = {}
        self._rows: dict[str, dict[str, tuple[int, int]]] = {key: {} for key in self._done}

    @property
    def name(self) -> str:
        return self._store.name

    @property
    def done(self) -> list[str]:
        return self._done

    @property
    def tables(self) -> list[str]:
        return self._tables

    @property
    def has_models(self) -> bool:
        return self._weights and any(self._model_files(key) for key in self._done)

    def write(self, target: Path, display: Progress) -> None:
        for file in (*ALONE, INSTANCES):
            names = [name for name in self._tables if file_of(name) == file]
            if names:
                self._write_tables(target / f"{file}.parquet", file, names, display)
        if self.has_models:
            self._write_models(target / f"{MODELS}.parquet", display.watching("packing models"))
        self._write_cells(target / f"{CELLS}.parquet")

    def _write_tables(self, path: Path, file: str, names: list[str], display: Progress) -> None:
        own = [(name, key) for name in names for key in self._done if self._has(key, name)]
        union = Union(
            ["cell", "table"] if file == INSTANCES else ["cell"],
            (self._source.schema(key, name) for name, key in own),
        )
        with _writer(path, union.schema) as writer:
            waiting: list[pa.Table] = []
            last = names[0]
            for name, key in display.watching(f"packing {file}")(own):
                table = self._source.table(key, name)
                self._note(key, name, table, union)
                rows = union.rows(table, {"cell": key, "table": name})
                full = sum(map(len, waiting)) + len(rows) > GROUP
                if waiting and (full or name != last):
                    _write_group(writer, union, waiting)
                    waiting = []
                waiting.append(rows)
                last = name
            _write_group(writer, union, waiting)

    def _note(self, key: str, name: str, table: pa.Table, union: Union) -> None:
        """Keep how many rows a table has, and of which shape."""
        labels = table.column("cell").unique().to_pylist() if "cell" in table.schema.names else []
        if labels != ([key] if len(table) else []):
            raise anew(key, self._source.shown, f"{table_file(name)} is of other cells")
        shape = (shape_of(table), json.dumps(union.columns(table.schema)))
        number = self._shapes.setdefault(shape, len(self._shapes))
        self._rows[key][name] = (len(table), number)

    def _write_models(self, path: Path, watch: Watch) -> None:
        schema = pa.schema(
            [("cell", pa.string()), ("file", pa.string()), ("bytes", pa.large_binary())]
        )
        light = ["cell", "file"]  # weights are as they are: nothing to look up, or to compare
        with _writer(path, schema, use_dictionary=light, write_statistics=light) as writer:
            for key in watch(self._done):
                files = sorted(self._source.model(key).items())
                rows = [{"cell": key, "file": n, "bytes": data} for n, data in files]
                if rows:
                    writer.write_table(pa.Table.from_pylist(rows, schema=schema))

    def _write_cells(self, path: Path) -> None:
        flat = [cell_row(key, s.config, s.facts) for key, s in self._cells.items()]
        states = pa.array([state.status for state in self._cells.values()], pa.string())
        table = arrow_rows(flat).add_column(1, "status", states)
        kept = [self._kept(key) for key in self._cells]
        for name in ("config", "manifest", "verdict", "failure", "tables", "left_out", "others"):
            column = pa.array([row.get(name) for row in kept], pa.string())
            table = table.append_column(name, column)
        shapes = [
            {"shape": base64.b64encode(shape).decode(), "columns": json.loads(columns)}
            for shape, columns in self._shapes
        ]
        about = {
            "packed": PACKED,
            "store": self._store.about,
            "study": portable_study(self._store.text()),
            "resolved": self._source.resolved,
            "shapes": shapes,
        }
        with _writer(path, table.schema.with_metadata({ABOUT: json.dumps(about)})) as writer:
            writer.write_table(table.replace_schema_metadata({ABOUT: json.dumps(about)}))

    def _kept(self, key: str) -> dict[str, str]:
        """What of a cell is no table, as text."""
        state = self._cells[key]
        row = {"config": json.dumps(state.config, ensure_ascii=False)}
        if state.failure is not None:
            row["failure"] = json.dumps(state.failure, ensure_ascii=False)
        if state.status != DONE:
            return row
        dropped = set(state.tables) - set(self._tables)
        if self._model_files(key) and not self._weights:
            dropped.add(MODEL)
        row["manifest"] = json.dumps(state.facts, ensure_ascii=False)
        row["left_out"] = json.dumps(sorted(dropped | set(state.left_out)))
        row["tables"] = json.dumps(self._rows[key])
        tables = {table_file(name) for name in tables_in(dict.fromkeys(self._source.files(key)))}
        others = {}
        for name in self._source.files(key):
            if name == VERDICT:
                row["verdict"] = self._source.file(key, name).decode()
            elif name not in (CONFIG, CELL) and name not in tables and not _of_model(name):
                others[name] = base64.b64encode(self._source.file(key, name)).decode()
        return row | ({"others": json.dumps(others)} if others else {})

    def _has(self, key: str, table: str) -> bool:
        return table in self._cells[key].tables

    def _model_files(self, key: str) -> list[str]:
        return [name for name in self._source.files(key) if _of_model(name)]


def _writer(path: Path, schema: pa.Schema, **settings: Any) -> parquet.ParquetWriter:
    return parquet.ParquetWriter(
        path, schema, compression="zstd", compression_level=9, write_page_checksum=True, **settings
    )


def _write_group(writer: parquet.ParquetWriter, union: Union, waiting: Sequence[pa.Table]) -> None:
    if waiting:
        whole = union.encoded(waiting)
        writer.write_table(whole, row_group_size=max(1, len(whole)))


def _of_model(name: str) -> bool:
    return name.startswith(f"{MODEL}/")
