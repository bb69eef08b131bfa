"""Cells as rows, and tables of different columns in one file."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import compute, parquet

from verax.studies.function_cell import cell_from_json

FACTS = ("strength_chosen", "verax", "torch", "device", "commit", "source", "started", "finished")


def cell_row(key: str, config: Mapping[str, Any], facts: Mapping[str, Any]) -> dict[str, Any]:
    """One row: `cell`, the configuration, and of the facts those that fit a column."""
    return {"cell": key, **cell_from_json(config).columns(), **fact_columns(facts)}


def fact_columns(facts: Mapping[str, Any]) -> dict[str, Any]:
    """seconds (in all), seconds_train, …, test_accuracy, …, versions and device."""
    known = {**facts.get("versions", {}), **facts}
    seconds = facts.get("seconds")
    if isinstance(seconds, Mapping):
        row = {"seconds": seconds.get("total")}
        row |= {f"seconds_{what}": took for what, took in seconds.items() if what != "total"}
    else:
        row = {"seconds": seconds}
    row |= {f"test_{measure}": value for measure, value in facts.get("test", {}).items()}
    return row | {name: known[name] for name in FACTS if name in known}


def arrow_rows(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Rows as a table: a column has one type, what a row does not say is null."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    return pa.table({name: _column([row.get(name) for row in rows]) for name in names})


def frame_of(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """The same as a DataFrame; whole numbers stay whole where some are missing."""
    table = arrow_rows(rows)
    frame: pd.DataFrame = table.to_pandas()
    for name, column in zip(table.column_names, table.columns, strict=True):
        if column.null_count and pa.types.is_integer(column.type):
            frame[name] = column.to_pandas(types_mapper=lambda _: pd.Int64Dtype())
        elif column.null_count and pa.types.is_boolean(column.type):
            frame[name] = column.to_pandas(types_mapper=lambda _: pd.BooleanDtype())
    return frame


def parquet_bytes(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    parquet.write_table(table, sink, compression="zstd")
    return bytes(sink.getvalue())


def _column(values: Iterable[Any]) -> pa.Array:
    """Values in the one type that holds them all; text where no other does."""
    plain = [v if v is None or isinstance(v, (bool, int, float, str)) else _text(v) for v in values]
    kinds = {type(v) for v in plain if v is not None}
    if kinds == {int, float}:
        return pa.array([None if v is None else float(v) for v in plain], pa.float64())
    if len(kinds) > 1:
        return pa.array([None if v is None else _text(v) for v in plain], pa.string())
    types = {bool: pa.bool_(), int: pa.int64(), float: pa.float64(), str: pa.string()}
    return pa.array(plain, types[kinds.pop()] if kinds else pa.null())


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def unlabelled(table: pa.Table) -> pa.Table:
    """A table without `cell`, its categories in a type that holds those of all cells."""
    fields = []
    for field in table.drop_columns("cell").schema:
        kind = field.type
        if pa.types.is_dictionary(kind):
            kind = pa.dictionary(pa.int32(), kind.value_type)
        fields.append(pa.field(field.name, kind))
    return table.drop_columns("cell").cast(pa.schema(fields))


def repeated(values: pd.Series, rows: np.ndarray) -> Any:
    """A configuration's value for every row: text and what is missing as categories."""
    if values.dtype.kind in "biuf" and not values.isna().any():
        return values.to_numpy()[rows]
    codes, levels = pd.factorize(values)
    return pd.Categorical.from_codes(codes[rows], pd.Index(levels))


def equal(column: pd.Series, value: Any) -> np.ndarray:
    """Where a column has a value; None and NaN are where it has none."""
    missing = value is None or value != value
    matches = column.isna() if missing else (column == value).fillna(False)
    return matches.to_numpy(dtype=bool)


_CATEGORY = pa.dictionary(pa.int32(), pa.string())


class StoredColumns:
    """The columns of a packed file, from the schemas of all tables that go into it.

    Columns of one name share a stored column if their values have one type; otherwise each type
    has its own (`draw_int64`, `draw_string`). `labels` are the first columns, of text: `cell`, and
    `table` where a file holds several.
    """

    def __init__(self, labels: Sequence[str], schemas: Iterable[pa.Schema]) -> None:
        always_categories: dict[tuple[str, pa.DataType], bool] = {}
        for schema in schemas:
            for field in _without_cell(schema):
                kind = field.name, _values(field.type)
                category = pa.types.is_dictionary(field.type)
                always_categories[kind] = always_categories.get(kind, True) and category
        types: dict[str, list[pa.DataType]] = {}
        for name, values in always_categories:
            types.setdefault(name, []).append(values)
        self._stored: dict[tuple[str, pa.DataType], str] = {}
        fields = [pa.field(name, _CATEGORY) for name in labels]
        taken = {*labels, *types}
        for name, kinds in types.items():
            real = sorted((kind for kind in kinds if not pa.types.is_null(kind)), key=str)
            for values in real or [pa.string()]:
                typed = re.sub(r"[^0-9a-z]+", "_", str(values)).strip("_")
                column = name if len(real) < 2 and name not in labels else f"{name}_{typed}"
                while column in taken and column != name:
                    column += "_"
                taken.add(column)
                text = pa.types.is_string(values) and always_categories.get((name, values), False)
                fields.append(pa.field(column, _CATEGORY if text else values))
                self._stored[name, values] = column
        self.schema = pa.schema(fields)
        self._empty = pa.schema([(f.name, _values(f.type)) for f in fields]).empty_table()

    def of(self, schema: pa.Schema) -> dict[str, str]:
        """The stored column of each column of a table; none for a column without values."""
        kinds = ((field.name, _values(field.type)) for field in _without_cell(schema))
        return {kind[0]: self._stored[kind] for kind in kinds if kind in self._stored}

    def rows(self, table: pa.Table, labels: Mapping[str, str]) -> pa.Table:
        """A table's rows as they are stored, but for columns that it does not have."""
        columns = {name: pa.repeat(pa.scalar(v), len(table)) for name, v in labels.items()}
        for name, stored in self.of(table.schema).items():
            column = table.column(name)
            columns[stored] = column.cast(_values(column.type))
        return pa.table(columns)

    def together(self, rows: Sequence[pa.Table]) -> pa.Table:
        """Rows of several tables in the types of the file."""
        whole = pa.concat_tables([self._empty, *rows], promote_options="default").combine_chunks()
        columns = [
            column.dictionary_encode() if field.type == _CATEGORY else column
            for field, column in zip(self.schema, whole.columns, strict=True)
        ]
        return pa.table(columns, schema=self.schema)


def shape_of(table: pa.Table) -> bytes:
    """A table's shape: all of it but its rows, as an Arrow stream of no rows.

    It has columns, types, the notes of pandas, and the categories of categorical columns, whose
    values a packed file stores plainly.
    """
    arrays = []
    for field, column in zip(table.schema, table.columns, strict=True):
        array = pa.array([], field.type)
        if pa.types.is_dictionary(field.type) and field.name != "cell" and column.num_chunks:
            array = column.unify_dictionaries().chunk(0)[:0]
        arrays.append(array)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_batch(pa.RecordBatch.from_arrays(arrays, schema=table.schema))
    return bytes(sink.getvalue())


def restored(rows: pa.Table, shape: bytes, columns: Mapping[str, str], key: str) -> pa.Table:
    """A table as it was, from its stored rows, its shape and its stored columns."""
    with pa.ipc.open_stream(shape) as stream:
        empty = next(iter(stream), None)
    if empty is None:
        raise ValueError("a shape without columns")
    empty.validate(full=True)  # a stream is taken at its word: lengths that lie end the process
    for array in empty.columns:
        if pa.types.is_dictionary(array.type):
            array.dictionary.validate(full=True)
    arrays = []
    for field, none in zip(empty.schema, empty.columns, strict=True):
        if field.name == "cell":
            values = pa.repeat(key, len(rows))
        elif field.name in columns:
            column = rows.column(columns[field.name])
            values = pa.concat_arrays(column.cast(_values(column.type)).chunks or [none])
        else:
            values = pa.nulls(len(rows), _values(field.type))
        if pa.types.is_dictionary(field.type):
            known = none.dictionary
            if field.name == "cell":
                known = pa.array([key] if len(rows) else [], field.type.value_type)
            codes = compute.index_in(values.cast(known.type), value_set=known)
            codes, ordered = codes.cast(field.type.index_type), field.type.ordered
            arrays.append(pa.DictionaryArray.from_arrays(codes, known, ordered=ordered))
        else:
            arrays.append(values.cast(field.type))
    return pa.table(arrays, schema=empty.schema)


def _without_cell(schema: pa.Schema) -> list[pa.Field]:
    return [field for field in schema if field.name != "cell"]


def _values(kind: pa.DataType) -> pa.DataType:
    """The type in which values are stored: all kinds of text as one."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    return pa.string() if text or pa.types.is_string_view(kind) else kind
