"""Every string that a saved file holds, to look for what should not be in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq


def strings_in(folder: Path) -> Iterator[tuple[Path, str]]:
    """(file, text) of every file below a folder: its name, then what it holds."""
    for path in sorted(folder.rglob("*")):
        yield path, str(path.relative_to(folder))
        if path.is_file():
            yield path, "\n".join(_strings(path))


def _strings(path: Path) -> Iterator[str]:
    """The text of a file; of a table its names, its metadata and the different texts in it."""
    if path.suffix != ".parquet":
        yield path.read_bytes().decode("utf-8", "replace")
        return
    file = pq.ParquetFile(path)
    schema = file.schema_arrow
    yield str(schema.metadata)
    yield str(file.metadata.metadata)
    yield from schema.names
    wanted = [field.name for field in schema if not _is_number(field.type)]
    text = [field.name for field in schema if pa.types.is_large_unicode(field.type)]
    text += [field.name for field in schema if pa.types.is_unicode(field.type)]
    table = pq.ParquetFile(path, read_dictionary=text).read(columns=wanted)
    for column in table.columns:
        yield from (str(value) for value in _different(column))


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_primitive(kind) or pa.types.is_null(kind))


def _different(column: pa.ChunkedArray) -> list[object]:
    if pa.types.is_dictionary(column.type):
        return [value for chunk in column.chunks for value in chunk.dictionary.to_pylist()]
    if pa.types.is_nested(column.type):
        return list(column.to_pylist())
    return list(column.unique().to_pylist())
