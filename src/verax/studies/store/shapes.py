"""Tables of different kinds in one, and each taken out again exactly as it was.

A **shape** is all of a table but its rows: columns, types, what pandas noted, and the categories of
its categorical columns, used or not. In a packed file a categorical column is stored as plain
values; columns of one name share a column if their values are of one type, and else have one each
(`draw_int64`, `draw_string`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

import pyarrow as pa
from pyarrow import compute

Kind = tuple[str, pa.DataType]
"""A column's name, and the type of its values."""


class Union:
    """The columns of a packed file, made of the schemas of all tables that go into it.

    `labels` are its first columns, text: `cell`, and what else tells tables apart.
    """

    def __init__(self, labels: Sequence[str], schemas: Iterable[pa.Schema]) -> None:
        self.labels = list(labels)
        categorical: dict[Kind, bool] = {}
        for schema in schemas:
            for field in _own(schema):
                kind, always = (field.name, _values(field.type)), _is_category(field.type)
                categorical[kind] = categorical.get(kind, True) and always
        by_name: dict[str, list[pa.DataType]] = {}
        for name, values in categorical:
            by_name.setdefault(name, []).append(values)
        self.stored: dict[Kind, str] = {}
        self.fields = [pa.field(name, _CATEGORY) for name in labels]
        taken = {*labels, *by_name}
        for name, kinds in by_name.items():
            real = sorted((k for k in kinds if not pa.types.is_null(k)), key=str)
            for values in real or [pa.string()]:
                shown = name if len(real) < 2 and name not in labels else _typed(name, values)
                while shown in taken and shown != name:
                    shown += "_"
                taken.add(shown)
                text = pa.types.is_string(values) and categorical.get((name, values), False)
                self.fields.append(pa.field(shown, _CATEGORY if text else values))
                self.stored[name, values] = shown

    @property
    def schema(self) -> pa.Schema:
        return pa.schema(self.fields)

    def columns(self, schema: pa.Schema) -> dict[str, str]:
        """Where the columns of a table are stored; those that hold nothing are not."""
        kinds = ((field.name, _values(field.type)) for field in _own(schema))
        return {kind[0]: self.stored[kind] for kind in kinds if kind in self.stored}

    def rows(self, table: pa.Table, labels: Mapping[str, str]) -> pa.Table:
        """A table's rows as they are stored, labels first."""
        arrays: dict[str, pa.Array | pa.ChunkedArray] = {
            name: pa.repeat(pa.scalar(labels[name], pa.string()), len(table))
            for name in self.labels
        }
        for name, shown in self.columns(table.schema).items():
            column = table.column(name)
            arrays[shown] = column.cast(_values(column.type))
        plain = [
            arrays.get(field.name, pa.nulls(len(table), _values(field.type)))
            for field in self.fields
        ]
        return pa.table(plain, names=[field.name for field in self.fields])

    def encoded(self, tables: Sequence[pa.Table]) -> pa.Table:
        """Rows of several tables in the types of the file."""
        whole = pa.concat_tables(tables).combine_chunks()
        columns = [
            column.dictionary_encode() if field.type == _CATEGORY else column
            for field, column in zip(self.fields, whole.columns, strict=True)
        ]
        return pa.table(columns, schema=self.schema)


def shape_of(table: pa.Table) -> bytes:
    """A table's shape: an Arrow stream of no rows, which has schema and categories."""
    arrays = []
    for field, column in zip(table.schema, table.columns, strict=True):
        if _is_category(field.type) and field.name != "cell":
            empty = pa.array([], field.type.index_type)
            categories = _categories(column)
            ordered = field.type.ordered
            arrays.append(pa.DictionaryArray.from_arrays(empty, categories, ordered=ordered))
        else:
            arrays.append(pa.array([], field.type))
    batch = pa.RecordBatch.from_arrays(arrays, schema=table.schema)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_batch(batch)
    return bytes(sink.getvalue())


def empty_of(shape: bytes) -> pa.RecordBatch:
    """The table of no rows that a shape stands for."""
    with pa.ipc.open_stream(shape) as stream:
        return stream.read_next_batch()


def restored(
    stored: pa.Table, empty: pa.RecordBatch, columns: dict[str, str], key: str
) -> pa.Table:
    """A table as it was, from its stored rows."""
    arrays = []
    for field, none in zip(empty.schema, empty.columns, strict=True):
        if field.name == "cell":
            arrays.append(_constant(key, len(stored), field.type))
        elif field.name not in columns:
            arrays.append(pa.nulls(len(stored), field.type))
        elif _is_category(field.type):
            codes = _codes(stored.column(columns[field.name]), none.dictionary)
            codes, ordered = codes.cast(field.type.index_type), field.type.ordered
            arrays.append(pa.DictionaryArray.from_arrays(codes, none.dictionary, ordered=ordered))
        else:
            column = stored.column(columns[field.name])
            arrays.append(column.cast(_values(column.type)).cast(field.type))
    return pa.table(arrays, schema=empty.schema)


_CATEGORY = pa.dictionary(pa.int32(), pa.string())


def _own(schema: pa.Schema) -> Iterator[pa.Field]:
    return (field for field in schema if field.name != "cell")


def _is_category(kind: pa.DataType) -> bool:
    return bool(pa.types.is_dictionary(kind))


def _values(kind: pa.DataType) -> pa.DataType:
    """The type in which values are stored: all kinds of text as one."""
    if _is_category(kind):
        kind = kind.value_type
    text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    return pa.string() if text or pa.types.is_string_view(kind) else kind


def _typed(name: str, values: pa.DataType) -> str:
    return f"{name}_{re.sub(r'[^0-9a-z]+', '_', str(values)).strip('_')}"


def _categories(column: pa.ChunkedArray) -> pa.Array:
    whole = column.unify_dictionaries()
    if whole.num_chunks == 0:
        return pa.array([], column.type.value_type)
    return whole.chunk(0).dictionary


def _codes(column: pa.ChunkedArray, categories: pa.Array) -> pa.Array:
    """Which category each value is."""
    whole = pa.concat_arrays(column.unify_dictionaries().chunks or [pa.array([], column.type)])
    if not _is_category(whole.type):
        return compute.index_in(whole.cast(categories.type), value_set=categories)
    # each word is looked up once
    words = compute.index_in(whole.dictionary.cast(categories.type), value_set=categories)
    return words.take(whole.indices)


def _constant(key: str, rows: int, kind: pa.DataType) -> pa.Array:
    if not _is_category(kind):
        return pa.repeat(pa.scalar(key, kind), rows)
    codes = pa.array([0] * rows, kind.index_type)
    return pa.DictionaryArray.from_arrays(codes, pa.array([key] if rows else [], kind.value_type))
