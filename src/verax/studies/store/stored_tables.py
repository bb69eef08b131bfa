"""Schemas of the tables of cells."""

from __future__ import annotations

import pandas as pd
import pyarrow as pa

from verax.exams.described import columns_of
from verax.schema import Columns, SchemaError
from verax.studies.adversaries import COLUMNS as OF_ADVERSARIES
from verax.studies.adversaries import NAME as ADVERSARIES

CELL = "cell"
_HISTORY = Columns.of(whole="epoch", key=("epoch",))
_NO_TABLE = (pa.ArrowException, ValueError, LookupError, TypeError, AttributeError)


def columns_in_store(table: str) -> Columns:
    """The schema of a cell's table, without the column that says whose it is."""
    if table == "history":
        return _HISTORY
    return OF_ADVERSARIES["instances"] if table == ADVERSARIES else columns_of(table)


def checked_frame(table: pa.Table, name: str, key: str) -> pd.DataFrame:
    """A cell's table without its key; `SchemaError` where it is another's, or not as it should."""
    where = f"{name}.parquet"
    try:
        frame: pd.DataFrame = table.to_pandas()
    except _NO_TABLE as error:
        first = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise SchemaError(f"{where} is no table: {first:.200}") from error
    if CELL not in frame or not (frame[CELL].astype(object) == key).all():
        raise SchemaError(f"{where} is of another cell")
    frame = frame.drop(columns=CELL)
    columns_in_store(name).check(frame, where)
    return frame
