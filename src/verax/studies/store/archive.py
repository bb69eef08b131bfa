"""A packed study: one Parquet file per table, in which every row has its cell's key.

    PACK/cells.parquet     a row per cell: cell, status, and as JSON config, manifest, verdict,
                           failure, tables and left_out
    PACK/TABLE.parquet     the rows of all cells, in the order of cells
    PACK/files.parquet     cell, file, bytes: files that are not tables, such as models

The metadata of `cells.parquet` hold the study, and size and SHA-256 of each other file. A pack is
opened as it is, and a store takes the cells of a pack in its folder `packed`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from verax.errors import VeraxError, VeraxErrors, nearest
from verax.files import new_file, refuse_foreign, replace_folder
from verax.progress import Progress
from verax.schema import SchemaError, checksum_of, parse_json
from verax.studies.grid.portable import portable_study
from verax.studies.store.folders import StorageFolder, storage_folder
from verax.studies.store.store import (
    DAMAGED,
    DONE,
    FORMAT,
    MODEL,
    STORE,
    UNCOMMITTED,
    VERDICT,
    Cells,
    CellState,
    Source,
    Store,
    damage,
    damaged_cell,
    is_inside,
    sum_of,
    table_file,
    tables_in,
)
from verax.studies.store.tables import CATEGORY, parquet_bytes, plain_types

if TYPE_CHECKING:
    from verax.studies.store.results import GridResults, StudyResults

PACK_FORMAT = 3
"""The format of packs; any other is an error."""
FIRST, OTHERS = "cells.parquet", "files.parquet"
METADATA = b"verax.study"
GROUP = 1 << 16
"""Rows of a row group, give or take a cell's: enough to compress, few enough for memory."""
_JSON = ("manifest", "failure", "tables", "left_out")
"""Columns of `cells.parquet` that are JSON, apart from config and verdict."""
_UNREADABLE = (pa.ArrowException, OSError, ValueError, LookupError, TypeError, AttributeError)
COLUMNS = ("cell", "status", "config", "verdict", *_JSON)
SUM = "sha256"
"""Where the metadata have a hash of `cells.parquet`, if the pack was written with one."""


class Archive(Cells):
    """The finished cells of a packed study, read as they are.

    Attributes:
        states: all cells of the study in its order.
        done: the keys of finished cells.
    """

    def __init__(self, folder: StorageFolder) -> None:
        about = _metadata(folder)
        if about is None:
            raise VeraxError(
                f"{folder.shown} is not a packed study, or its {FIRST} is damaged: expected a "
                "folder that verax pack wrote",
                code="result.damaged",
            )
        self.shown, self._folder = folder.shown, folder
        store = about.get("store")
        self.about = store if isinstance(store, dict) else {}
        if (about.get("packed"), self.about.get("format")) != (PACK_FORMAT, FORMAT):
            raise VeraxError(
                f"{self.shown} was packed by another Verax ({self.about.get('verax')!s:.60}), in "
                f"format {about.get('packed')!r:.60}: this Verax reads {PACK_FORMAT}; pack the "
                "study again",
                code="result.other-format",
            )
        self._verdicts: dict[str, str] = {}
        self._ends: dict[str, int] = {}
        self._rows: dict[tuple[str, str], tuple[int, int, Sequence[str]]] = {}
        self._last_read: dict[str, tuple[Any, pa.Table]] = {}
        with self._reading(FIRST), self._opened(FIRST) as file:
            rows = file.read(columns=list(COLUMNS)).to_pylist()
            if SUM in about and about[SUM] != sum_of_pack(about, rows):
                raise SchemaError("it has other contents than were written")
            self._text, self._files = str(about["study"]), dict(about["files"])
            self.states = {row["cell"]: self._state(row) for row in rows}
            self.done = [key for key, state in self.states.items() if state.status == DONE]
            cells = {key: state.config for key, state in self.states.items()}
            self.resolved = {**about["resolved"], "cells": cells}
            tables = {table_file(name) for _, name in self._rows}
            if not all(is_inside(name) and "/" not in name for name in {*self._files, *tables}):
                raise SchemaError("it names a file outside of its folder")

    def _state(self, row: Mapping[str, Any]) -> CellState:
        """The state of a cell, from the next row of `cells.parquet`."""
        read = {name: parse_json(row[name]) for name in ("config", *_JSON) if row[name]}
        tables = read.get("tables", {})
        for name, of in tables.items():
            start = self._ends.get(name, 0)
            self._ends[name] = start + of["rows"]
            self._rows[row["cell"], name] = start, of["rows"], of.get("without", ())
        if row["verdict"] is not None:
            self._verdicts[row["cell"]] = row["verdict"]
        return CellState(
            row["status"],
            read["config"],
            read.get("manifest", {}),
            sorted(tables),
            failure=read.get("failure"),
            left_out=read.get("left_out", []),
        )

    def source(self) -> Source:
        """What results are read from; an error if a file has another size than was written."""
        for problem in self.damage().values():
            raise VeraxError(
                f"{self.shown} is damaged ({problem}): pack the study again, or get another copy",
                code="result.damaged",
            )
        holders = dict.fromkeys(self.done, self)
        return Source(
            self.shown, self.about, self.resolved, self.states, holders, lambda: self._text
        )

    def keys(self) -> list[str]:
        return sorted(self.done)

    def damage(self, keys: Iterable[str] | None = None, contents: bool = False) -> dict[str, str]:
        sizes = {name: size for name, size in self._folder.sizes().items() if "/" not in name}
        read = self._folder.read_bytes if contents else None
        wrong = {n: damage({n: entry}, sizes, read) for n, entry in self._files.items()}
        found = {}
        chosen = set(self.done) if keys is None else set(keys)
        for key in self.done:
            own = [*map(table_file, self.states[key].tables), OTHERS]
            problems = [words for name in own if (words := wrong.get(name)) is not None]
            if problems and key in chosen:
                found[key] = "; ".join(problems)
        return found

    def manifest(self, key: str) -> dict[str, Any]:
        state = self.states[key]
        own = [VERDICT] if key in self._verdicts else []
        names = [*own, *map(table_file, state.tables), *self._others.get(key, ())]
        files: dict[str, Any] = {name: {} for name in names}
        return {"cell": key, "config": state.config, **state.facts, "files": files}

    def file(self, key: str, name: str) -> bytes:
        if name == VERDICT and key in self._verdicts:
            return self._verdicts[key].encode()
        if name.removesuffix(".parquet") in self.states[key].tables:
            return parquet_bytes(self.table(key, name.removesuffix(".parquet")))
        with self._reading(OTHERS), self._opened(OTHERS) as file:
            rows = file.read_row_group(self._others[key][name]).to_pylist()
            (data,) = (row["bytes"] for row in rows if (row["cell"], row["file"]) == (key, name))
            if not isinstance(data, bytes):
                raise SchemaError(f"{name} of cell {key} has no contents")
            return data

    @cached_property
    def _others(self) -> dict[str, dict[str, int]]:
        """Cell → names of files that are not tables → the row group of each."""
        found: dict[str, dict[str, int]] = {}
        if not self._folder.exists(OTHERS):
            return found
        with self._reading(OTHERS), self._opened(OTHERS) as file:
            for group in range(file.num_row_groups):
                for row in file.read_row_group(group, columns=["cell", "file"]).to_pylist():
                    if not isinstance(row["file"], str) or not is_inside(row["file"]):
                        raise SchemaError(f"it names a file {row['file']!r:.60} outside of a cell")
                    found.setdefault(row["cell"], {})[row["file"]] = group
        return found

    def schema(self, key: str, name: str) -> pa.Schema:
        return self.table(key, name).schema

    def table(self, key: str, name: str) -> pa.Table:
        start, number, without = self._rows[key, name]
        file = table_file(name)
        with self._reading(file):
            rows = self._slice(file, start, number)
            if "cell" not in rows.schema.names:
                raise SchemaError("it has no column 'cell'")
            if rows.column("cell").unique().to_pylist() != ([key] if number else []):
                raise SchemaError(f"its rows are not those that {FIRST} lists")
            return rows.drop_columns([name for name in without if name in rows.schema.names])

    def _slice(self, name: str, start: int, number: int) -> pa.Table:
        """Rows of a file. Its last row groups stay in memory: the next cell is often in them."""
        last = self._last_read.get(name)
        if last is None or not last[0][0] <= start <= start + number <= last[0][1]:
            with self._opened(name) as file:
                sizes = [file.metadata.row_group(n).num_rows for n in range(file.num_row_groups)]
                ends = np.cumsum([0, *sizes])
                if start + number > ends[-1]:
                    raise SchemaError("rows are missing")
                first = max(0, int(np.searchsorted(ends, start, side="right")) - 1)
                end = max(first + 1, int(np.searchsorted(ends, start + number, side="left")))
                groups = range(first, min(end, len(sizes)))
                span = int(ends[first]), int(ends[min(end, len(sizes))])
                last = self._last_read[name] = span, file.read_row_groups(groups)
        return last[1].slice(start - last[0][0], number)

    @contextmanager
    def _opened(self, name: str) -> Iterator[parquet.ParquetFile]:
        with self._folder.open(name) as stream:
            yield parquet.ParquetFile(stream, page_checksum_verification=True)

    @contextmanager
    def _reading(self, name: str) -> Iterator[None]:
        """Turn any error within it into one that names the file."""
        try:
            yield
        except VeraxError:
            raise
        except _UNREADABLE as error:
            first = (str(error).strip() or type(error).__name__).splitlines()[0]
            raise VeraxError(
                f"{name} of {self.shown} is missing or damaged ({first:.200}): pack the study "
                "again, or get another copy",
                code="result.damaged",
            ) from error


def open_source(folder: StorageFolder) -> Source:
    """The cells of a store or of a pack."""
    if folder.exists(STORE) or not folder.exists(FIRST):
        return Store.open(folder).source()
    return Archive(folder).source()


def pack(
    folder: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    tables: Sequence[str] | None = None,
    weights: bool = False,
    filesystem: Any = None,
    progress: bool = False,
) -> StudyResults | GridResults:
    """Write a study, or a grid of a function, as one Parquet file per table.

    `verax.open_study` reads the files as they are. To continue the study, copy them to the folder
    `packed` of a new folder and run the study there. The same store gives the same bytes.

    Cells that ran with uncommitted changes are not packed: nobody could say what code made them.

    Args:
        folder: the study's folder: a path, a URL, or a path in `filesystem`.
        out: a folder of this machine; it is written atomically.
        tables: names of tables to pack, by default all. The pack records which were left out.
        weights: whether to pack models too.
        filesystem: an fsspec or pyarrow filesystem.
        progress: whether to show a bar.

    Returns:
        The packed study, opened.

    Raises:
        VeraxError: a finished cell ran with uncommitted changes, a file is damaged, or `out` holds
            something else.
    """
    from verax.studies.store.results import open_results

    if "://" in os.fspath(out):
        raise VeraxError(
            f"cannot pack into {out}: give a folder of this machine, and copy it",
            code="output.wrong-kind",
        )
    out = Path(out)
    refuse_foreign(out, is_only_packed)
    where = storage_folder(folder, filesystem)
    if not where.exists(STORE) and _metadata(where) is not None:
        raise VeraxError(
            f"{where.shown} is packed already: give the folder of a study", code="result.wrong-kind"
        )
    source = Store.open(where).source()
    chosen = _chosen_tables(source, tables)
    with_models = weights and any(_has_model(source.files(key)) for key in _done(source))
    _refuse_to_lose(out, source, chosen, with_models)
    with Progress(progress) as display:
        replace_folder(
            out,
            lambda target: write_archive(target, source, chosen, weights=weights, display=display),
            owned=is_only_packed,
        )
    return open_results(out)


def is_only_packed(folder: Path) -> bool:
    """Whether a folder holds a pack and nothing else, so that it may be replaced."""
    about = _metadata(storage_folder(folder))
    files = (about or {}).get("files")
    known = {FIRST, *files} if isinstance(files, dict) else set()
    return bool(known) and {path.name for path in folder.iterdir()} <= known


def write_archive(
    target: Path,
    source: Source,
    tables: Iterable[str],
    *,
    weights: bool = False,
    display: Progress | None = None,
) -> None:
    """Write the cells of a study as a pack.

    Args:
        target: an empty folder.
        source: where the cells are read.
        tables: the tables to write.
        weights: whether to write models too.
        display: shows how far it is.
    """
    display = display or Progress(False)
    cells = {key: source.states[key] for key in source.resolved["cells"]}
    done, tables = _done(source), list(tables)
    rows: dict[str, dict[str, Any]] = {key: {} for key in done}
    for name in display.watching("packing tables")(tables):
        having = [key for key in done if name in cells[key].tables]
        try:
            schema = _common_schema(source.schema(key, name) for key in having)
            with _writing(target / table_file(name), schema) as write:
                for key in having:
                    table = _own_table(source, key, name)
                    rows[key][name] = {"rows": len(table)}
                    if without := sorted(set(schema.names) - set(table.schema.names)):
                        rows[key][name]["without"] = without
                    write(_as_stored(table, schema))
        except pa.ArrowException as error:
            raise VeraxError(
                f"cannot pack table {name!r}: it has columns of different kinds in different "
                "cells; choose other tables with --tables",
                code="result.incomparable",
            ) from error
    if others := {key: files for key in done if (files := _others(source, key, weights))}:
        schema = pa.schema(
            [("cell", pa.string()), ("file", pa.string()), ("bytes", pa.large_binary())]
        )
        # weights do not repeat, and nobody compares them
        light: dict[str, Any] = {
            "use_dictionary": ["cell", "file"],
            "write_statistics": ["cell", "file"],
        }
        with _writing(target / OTHERS, schema, group=1, **light) as write:
            for key, names in others.items():
                data = [{"cell": key, "file": n, "bytes": source.file(key, n)} for n in names]
                write(pa.Table.from_pylist(data, schema=schema))
    about = {
        "packed": PACK_FORMAT,
        "store": source.about,
        "study": portable_study(source.text()),
        "resolved": {name: value for name, value in source.resolved.items() if name != "cells"},
        "files": {path.name: checksum_of(path.read_bytes()) for path in sorted(target.iterdir())},
    }
    lines = [_row(source, key, rows.get(key, {}), weights) for key in cells]
    schema = pa.schema([(name, pa.string()) for name in COLUMNS])
    metadata = {METADATA.decode(): json.dumps({**about, SUM: sum_of_pack(about, lines)})}
    # statistics would hold a configuration twice in the footer
    with _writing(target / FIRST, schema, metadata=metadata, write_statistics=False) as write:
        write(pa.Table.from_pylist(lines, schema=schema))


def sum_of_pack(about: Mapping[str, Any], rows: Iterable[Mapping[str, Any]]) -> str:
    """A hash of the metadata and the rows of `cells.parquet`."""
    values = [[row.get(name) for name in COLUMNS] for row in rows]
    return sum_of({**about, "rows": values})


def _row(source: Source, key: str, rows: Mapping[str, Any], weights: bool) -> dict[str, str]:
    """A cell's row of `cells.parquet`."""
    state = source.states[key]
    row = {"cell": key, "status": state.status, "config": _json(state.config)}
    if state.failure is not None:
        row["failure"] = _json(state.failure)
    if state.status == DONE:
        left_out = set(state.tables) - set(rows) | set(state.left_out)
        if not weights and _has_model(source.files(key)):
            left_out.add(MODEL)
        row |= {"manifest": _json(state.facts), "tables": _json(rows)}
        row["left_out"] = _json(sorted(left_out))
        if VERDICT in source.files(key):
            row["verdict"] = source.file(key, VERDICT).decode()
    return row


def _done(source: Source) -> list[str]:
    return [key for key in source.resolved["cells"] if source.states[key].status == DONE]


def _has_model(files: Iterable[str]) -> bool:
    return any(name.startswith(f"{MODEL}/") for name in files)


def _others(source: Source, key: str, weights: bool) -> list[str]:
    """The files of a cell that are neither tables nor its verdict, with or without its model."""
    names = source.files(key)
    known = {VERDICT, *map(table_file, tables_in(names))}
    return sorted(
        name
        for name in names
        if name not in known and (weights or not name.startswith(f"{MODEL}/"))
    )


def _chosen_tables(source: Source, tables: Sequence[str] | None) -> list[str]:
    """The tables to pack; an error if the study cannot be packed."""
    states = {key: source.states[key] for key in source.resolved["cells"]}
    damaged = {key: str(s.wrong) for key, s in states.items() if s.status == DAMAGED}
    if damaged:
        raise VeraxErrors(*(damaged_cell(key, source.shown, w) for key, w in damaged.items()))
    done = _done(source)
    if not done:
        raise VeraxError(
            f"{source.shown} has no finished cell: run the study, then pack it",
            code="result.unfinished",
        )
    changed = [k for k in done if str(states[k].facts.get("commit")).endswith(UNCOMMITTED)]
    if changed:
        more = f" and {len(changed) - 1:,} more" if len(changed) > 1 else ""
        raise VeraxError(
            f"cannot pack {source.shown}: cell {changed[0]}{more} ran with uncommitted changes; "
            "commit them and run the study in a new folder",
            code="study.uncommitted",
        )
    known = sorted({table for key in done for table in states[key].tables})
    for name in tables or ():
        if name not in known:
            raise VeraxError(
                f"unknown table {name!r}: {nearest(name, known)}", code="result.unknown-name"
            )
    if tables is not None and not tables:
        raise VeraxError(f"no table to pack: choose from {', '.join(known)}", code="option.empty")
    return [name for name in known if tables is None or name in tables]


def _refuse_to_lose(out: Path, source: Source, tables: Sequence[str], models: bool) -> None:
    """A pack may be the only copy: it is replaced by one that has all of it, and by no other."""
    if not out.exists() or not any(out.iterdir()):
        return
    old = Archive(storage_folder(out))
    had = {name for key in old.done for name in old.states[key].tables}
    lost = sorted(had - set(tables))
    if not models and any(_has_model(old.manifest(key)["files"]) for key in old.done):
        lost.append("weights")
    if old.about["name"] != source.about["name"]:
        lost = [f"study {old.about['name']!r}"]
    elif fewer := set(old.done) - set(_done(source)):
        lost = [f"{len(fewer):,} cells that {source.about['name']!r} has not"]
    if lost:
        raise VeraxError(
            f"cannot pack into {out}: it holds {', '.join(lost)}, which would be lost; give "
            "another folder, or delete it",
            code="output.occupied",
        )


def _own_table(source: Source, key: str, name: str) -> pa.Table:
    """A table of a cell, all of whose rows say that they are of it."""
    table = source.table(key, name)
    cells = table.column("cell").unique().to_pylist() if "cell" in table.schema.names else []
    if cells != ([key] if len(table) else []):
        raise damaged_cell(key, source.shown, f"{table_file(name)} is of other cells")
    return table


def _common_schema(schemas: Iterable[pa.Schema]) -> pa.Schema:
    """The columns of several tables, each in a type that holds all of its values."""
    categories: dict[str, bool] = {}
    plain = []
    for schema in map(plain_types, schemas):
        for field in schema:
            category = pa.types.is_dictionary(field.type) or pa.types.is_null(field.type)
            categories[field.name] = categories.get(field.name, True) and category
        plain.append(_decoded(schema))
    together = pa.unify_schemas(plain, promote_options="permissive")
    return pa.schema(
        pa.field(f.name, CATEGORY if categories[f.name] and pa.types.is_string(f.type) else f.type)
        for f in together
    )


def _decoded(schema: pa.Schema) -> pa.Schema:
    """A schema whose categories are their values."""
    types = [f.type.value_type if pa.types.is_dictionary(f.type) else f.type for f in schema]
    return pa.schema(list(zip(schema.names, types, strict=True)))


def _as_stored(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """A table in the types of a schema, without columns of which it has no value."""
    table = table.cast(_decoded(plain_types(table.schema)))
    kept = [f.name for f in table.schema if not pa.types.is_null(f.type) or f.name == "cell"]
    return table.select(kept).cast(pa.schema([schema.field(name) for name in kept]))


@contextmanager
def _writing(
    path: Path,
    schema: pa.Schema,
    group: int | None = None,
    metadata: Mapping[str, str] | None = None,
    **settings: Any,
) -> Iterator[Callable[[pa.Table], None]]:
    """A function that adds rows to a new Parquet file, in groups of about as many rows."""
    how = {"compression": "zstd", "compression_level": 9, "write_page_checksum": True, **settings}
    waiting: list[pa.Table] = []

    def write_group() -> None:
        if waiting:
            rows = pa.concat_tables([schema.empty_table(), *waiting], promote_options="default")
            rows = rows.unify_dictionaries().combine_chunks()
            writer.write_table(rows, row_group_size=max(1, len(rows)))
            waiting.clear()

    def write(rows: pa.Table) -> None:
        if waiting and sum(map(len, waiting)) + len(rows) > (group or GROUP):
            write_group()
        waiting.append(rows)

    with new_file(path) as stream, parquet.ParquetWriter(stream, schema, **how) as writer:
        yield write
        write_group()
        writer.add_key_value_metadata(metadata or {})


def _metadata(folder: StorageFolder) -> dict[str, Any] | None:
    """The metadata of a pack; None if a folder holds none."""
    if not folder.exists(FIRST):
        return None
    try:
        with folder.open(FIRST) as file:
            about = (parquet.read_metadata(file).metadata or {}).get(METADATA)
        values = None if about is None else parse_json(about)
    except (OSError, ValueError, pa.ArrowException):
        return None
    return values if isinstance(values, dict) else None


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
