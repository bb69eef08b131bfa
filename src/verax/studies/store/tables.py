"""Rows and columns: configurations, facts and tables of cells."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import parquet

FACTS = ("strength_chosen", "verax", "torch", "device", "commit", "source", "started", "finished")


CATEGORY = pa.dictionary(pa.int32(), pa.string())


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
    frame = to_frame(table)
    for name, column in zip(table.column_names, table.columns, strict=True):
        if column.null_count and pa.types.is_boolean(column.type):
            frame[name] = column.to_pandas(types_mapper=lambda _: pd.BooleanDtype())
    return frame


def to_frame(table: pa.Table) -> pd.DataFrame:
    """A table as a DataFrame; without pandas' notes, whole numbers stay whole beside nulls."""
    frame: pd.DataFrame = table.to_pandas()
    if table.schema.pandas_metadata is None:
        for name, column in zip(table.column_names, table.columns, strict=True):
            if column.null_count and pa.types.is_integer(column.type):
                frame[name] = column.to_pandas(types_mapper=lambda _: pd.Int64Dtype())
            elif pa.types.is_dictionary(column.type):
                frame[name] = frame[name].cat.remove_unused_categories()
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
    """A table without `cell`, in types that hold the values of all cells."""
    rows = table.drop_columns("cell")
    return rows.cast(plain_types(rows.schema))


def plain_types(schema: pa.Schema) -> pa.Schema:
    """A schema whose types can be unified: one kind of category and of text, and no notes."""
    return pa.schema([pa.field(field.name, _plain_type(field.type)) for field in schema])


def _plain_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_dictionary(kind):
        values = _plain_type(kind.value_type)
        return CATEGORY if pa.types.is_string(values) else values
    is_text = pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    return pa.string() if is_text else kind


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
