"""`pack`: a store as a few Parquet files, which is what travels. `unpack`: a store again."""

from __future__ import annotations

import base64
import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from verax.errors import VeraxError, VeraxErrors, nearest
from verax.files import new_file, refuse_foreign, replace_folder
from verax.progress import Progress
from verax.studies.grid.portable import portable_study
from verax.studies.store.cells import (
    CELL,
    CONFIG,
    MODEL,
    VERDICT,
    as_json,
    damaged_cell,
    table_file,
    tables_in,
)
from verax.studies.store.folders import SCRATCH, StorageFolder, storage_folder
from verax.studies.store.packed import (
    ABOUT,
    CELLS,
    INSTANCES,
    MODELS,
    PACKED,
    SINGLE,
    PackedSource,
    file_of,
    is_only_packed,
    is_packed,
)
from verax.studies.store.results import StudyResults, open_study
from verax.studies.store.saved import UNCOMMITTED
from verax.studies.store.sources import DAMAGED, DONE, StoreSource
from verax.studies.store.store import STORE, Store
from verax.studies.store.tables import StoredColumns, arrow_rows, cell_row, parquet_bytes, shape_of

GROUP = 1 << 16
"""Rows of a row group, give or take a cell's table: enough to compress, few enough for memory."""


def pack(
    folder: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    tables: Sequence[str] | None = None,
    weights: bool = False,
    filesystem: Any = None,
    progress: bool = False,
) -> StudyResults:
    """Write a study as a few Parquet files. The same store gives the same bytes.

    Cells that ran with uncommitted changes are not packed: nobody could say what code made them.

    Args:
        folder: the study's folder: a path, a URL, or a path in `filesystem`.
        out: a folder of this machine; it is written all at once.
        tables: names of tables to pack, by default all. The pack records which were left out.
        weights: whether to pack models too.
        filesystem: an object of fsspec or of pyarrow.fs.
        progress: whether to show a bar.

    Returns:
        The packed study, opened.

    Raises:
        VeraxError: a finished cell ran with uncommitted changes, a file is damaged, or `out` holds
            something else.
    """
    if "://" in os.fspath(out):
        raise VeraxError(
            f"cannot pack into {out}: give a folder of this machine, and copy it",
            code="output.wrong-kind",
        )
    out = Path(out)
    refuse_foreign(out, is_only_packed)
    where = storage_folder(folder, filesystem)
    if is_packed(where):
        raise VeraxError(
            f"{where.shown} is packed already: give the folder of a study", code="result.wrong-kind"
        )
    packing = Packing(StoreSource(Store.open(where)), tables, weights)
    _refuse_to_lose(out, packing)
    with Progress(progress) as display:
        replace_folder(out, lambda target: packing.write(target, display), owned=is_only_packed)
    return open_study(out)


def unpack(
    packed: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    filesystem: Any = None,
    progress: bool = False,
) -> StudyResults:
    """Make a store of a packed study: same tables, facts and failures, every cell complete.

    Args:
        packed: the packed study: a path, a URL, or a path in `filesystem`.
        out: a new or an empty folder, or a URL. On this machine it is written all at once.
        filesystem: an object of fsspec or of pyarrow.fs.
        progress: whether to show a bar.

    Returns:
        The study, opened.
    """
    where, target = storage_folder(packed, filesystem), storage_folder(out)
    if where.exists(STORE) and not is_packed(where):
        raise VeraxError(
            f"{where.shown} is not packed: it can be opened and run as it is",
            code="result.wrong-kind",
        )
    source = PackedSource(where)
    with Progress(progress) as display:
        if target.local is not None:
            replace_folder(
                target.local,
                lambda folder: _fill(storage_folder(folder), source, display),
                owned=lambda folder: False,
            )
        elif target.names():
            raise VeraxError(
                f"cannot write {target.shown}: it holds other files, give a new or an empty folder",
                code="output.occupied",
            )
        else:
            _fill(target, source, display)
    return open_study(target)


def _fill(folder: StorageFolder, source: PackedSource, display: Progress) -> None:
    with folder.writing():  # the maker of the store, not the one who unpacks it
        folder.write_bytes(STORE, as_json(source.store) + b"\n")
    store = Store.create(folder, str(source.store["name"]), source.study, source.resolved)
    for key, state in display.watching("unpacking cells")(source.states.items()):
        if state.failure is not None:
            store.fail(key, state.failure)
        if state.status == DONE:
            files = {table_file(n): parquet_bytes(source.table(key, n)) for n in state.tables}
            files |= source.files(key)
            files |= {f"{MODEL}/{name}": data for name, data in source.model(key).items()}
            store.commit(key, state.config, files, state.facts, state.left_out)
    if folder.local is not None:
        shutil.rmtree(folder.local / SCRATCH, ignore_errors=True)


def _refuse_to_lose(out: Path, packing: Packing) -> None:
    """A pack may be the only copy: it is replaced by one that has all of it, and by no other."""
    if not out.exists() or not any(out.iterdir()):
        return
    old = open_study(out)
    lost = sorted(set(old.tables) - set(packing.tables))
    if (out / f"{MODELS}.parquet").exists() and not packing.has_models:
        lost.append("weights")
    if old.name != packing.name:
        lost = [f"study {old.name!r}"]
    elif fewer := set(old.done) - set(packing.done):
        lost = [f"{len(fewer):,} cells that {packing.name!r} has not"]
    if lost:
        raise VeraxError(
            f"cannot pack into {out}: it holds {', '.join(lost)}, which would be lost; give "
            "another folder, or delete it",
            code="output.occupied",
        )


def refuse_uncommitted(shown: str, facts: Mapping[str, Mapping[str, Any]]) -> None:
    """Raise an error if a cell ran with uncommitted changes.

    Args:
        shown: the study, as an error names it.
        facts: cell → its facts.
    """
    changed = [key for key, of in facts.items() if str(of.get("commit")).endswith(UNCOMMITTED)]
    if changed:
        more = f" and {len(changed) - 1:,} more" if len(changed) > 1 else ""
        raise VeraxError(
            f"cannot pack {shown}: cell {changed[0]}{more} ran with uncommitted changes; commit "
            "them and run the study in a new folder",
            code="study.uncommitted",
        )


class Packing:
    """One study on its way into files, a row group at a time."""

    def __init__(self, source: StoreSource, tables: Sequence[str] | None, weights: bool) -> None:
        self._source, self._weights = source, weights
        self._cells = {key: source.states[key] for key in source.resolved["cells"]}
        damaged = {k: str(s.wrong) for k, s in self._cells.items() if s.status == DAMAGED}
        if damaged:
            raise VeraxErrors(*(damaged_cell(key, source.shown, w) for key, w in damaged.items()))
        self.done = [key for key, state in self._cells.items() if state.status == DONE]
        if not self.done:
            raise VeraxError(
                f"{source.shown} has no finished cell: run the study, then pack it",
                code="result.unfinished",
            )
        refuse_uncommitted(source.shown, {key: self._cells[key].facts for key in self.done})
        known = sorted({table for key in self.done for table in self._cells[key].tables})
        for name in tables or ():
            if name not in known:
                raise VeraxError(
                    f"unknown table {name!r}: {nearest(name, known)}", code="result.unknown-name"
                )
        if tables is not None and not tables:
            raise VeraxError(
                f"no table to pack: choose from {', '.join(known)}", code="option.empty"
            )
        self.tables = [name for name in known if tables is None or name in tables]
        self.name = str(source.about["name"])
        self._shapes: dict[tuple[bytes, str], int] = {}
        self._rows: dict[str, dict[str, tuple[int, int]]] = {key: {} for key in self.done}

    @property
    def has_models(self) -> bool:
        return self._weights and any(self._has_model(key) for key in self.done)

    def write(self, target: Path, display: Progress) -> None:
        for file in (*SINGLE, INSTANCES):
            self._write_tables(target / f"{file}.parquet", file, display)
        if self.has_models:
            self._write_models(target / f"{MODELS}.parquet", display)
        self._write_cells(target / f"{CELLS}.parquet")

    def _write_tables(self, path: Path, file: str, display: Progress) -> None:
        names = [name for name in self.tables if file_of(name) == file]
        parts = [(n, key) for n in names for key in self.done if n in self._cells[key].tables]
        if not parts:
            return
        labels = ["cell", "table"] if file == INSTANCES else ["cell"]
        columns = StoredColumns(labels, (self._source.schema(key, name) for name, key in parts))
        group: list[pa.Table] = []
        last = names[0]

        def write_group() -> None:
            rows = columns.together(group)
            writer.write_table(rows, row_group_size=max(1, len(rows)))
            group.clear()

        with _writer(path, columns.schema) as writer:
            for name, key in display.watching(f"packing {file}")(parts):
                table = self._table(key, name)
                shape = (shape_of(table), json.dumps(columns.of(table.schema)))
                number = self._shapes.setdefault(shape, len(self._shapes))
                self._rows[key][name] = (len(table), number)
                rows = columns.rows(table, dict(zip(labels, (key, name), strict=False)))
                if group and (name != last or sum(map(len, group)) + len(rows) > GROUP):
                    write_group()
                group.append(rows)
                last = name
            write_group()

    def _table(self, key: str, name: str) -> pa.Table:
        """A table of a cell, all of whose rows say that they are of it."""
        table = self._source.table(key, name)
        cells = table.column("cell").unique().to_pylist() if "cell" in table.schema.names else []
        if cells != ([key] if len(table) else []):
            raise damaged_cell(key, self._source.shown, f"{table_file(name)} is of other cells")
        return table

    def _write_models(self, path: Path, display: Progress) -> None:
        light = ["cell", "file"]  # weights do not repeat, and nobody compares them
        schema = pa.schema([*((name, pa.string()) for name in light), ("bytes", pa.large_binary())])
        with _writer(path, schema, use_dictionary=light, write_statistics=light) as writer:
            for key in display.watching("packing models")(self.done):
                if files := sorted(self._source.model(key).items()):
                    rows = [{"cell": key, "file": name, "bytes": data} for name, data in files]
                    writer.write_table(pa.Table.from_pylist(rows, schema=schema))

    def _write_cells(self, path: Path) -> None:
        table = arrow_rows([cell_row(key, s.config, s.facts) for key, s in self._cells.items()])
        status = pa.array([state.status for state in self._cells.values()], pa.string())
        table = table.add_column(1, "status", status)
        texts = [self._texts(key) for key in self._cells]
        for name in ("config", "manifest", "verdict", "failure", "tables", "left_out", "others"):
            column = pa.array([text.get(name) for text in texts], pa.string())
            table = table.append_column(name, column)
        about = {
            "packed": PACKED,
            "store": self._source.about,
            "study": portable_study(self._source.text()),
            "resolved": self._source.resolved,
            "shapes": [
                {"shape": base64.b64encode(shape).decode(), "columns": json.loads(columns)}
                for shape, columns in self._shapes
            ],
        }
        table = table.replace_schema_metadata({ABOUT: json.dumps(about)})
        with _writer(path, table.schema) as writer:
            writer.write_table(table)

    def _texts(self, key: str) -> dict[str, str]:
        """A cell's columns of `cells.parquet` that are JSON."""
        state, source = self._cells[key], self._source
        texts = {"config": json.dumps(state.config, ensure_ascii=False)}
        if state.failure is not None:
            texts["failure"] = json.dumps(state.failure, ensure_ascii=False)
        if state.status != DONE:
            return texts
        dropped = set(state.tables) - set(self.tables) | set(state.left_out)
        if self._has_model(key) and not self._weights:
            dropped.add(MODEL)
        texts["manifest"] = json.dumps(state.facts, ensure_ascii=False)
        texts["left_out"] = json.dumps(sorted(dropped))
        texts["tables"] = json.dumps(self._rows[key])
        names = source.files(key)
        elsewhere = {CONFIG, CELL, *map(table_file, tables_in(names))}
        files = {n: source.file(key, n) for n in names if n not in elsewhere and not _of_model(n)}
        if VERDICT in files:
            texts["verdict"] = files.pop(VERDICT).decode()
        if files:
            others = {name: base64.b64encode(data).decode() for name, data in files.items()}
            texts["others"] = json.dumps(others)
        return texts

    def _has_model(self, key: str) -> bool:
        return any(map(_of_model, self._source.files(key)))


@contextmanager
def _writer(path: Path, schema: pa.Schema, **settings: Any) -> Iterator[parquet.ParquetWriter]:
    how = {"compression": "zstd", "compression_level": 9, "write_page_checksum": True, **settings}
    with new_file(path) as stream, parquet.ParquetWriter(stream, schema, **how) as writer:
        yield writer


def _of_model(name: str) -> bool:
    return name.startswith(f"{MODEL}/")
