"""Whatever tables hold, a pack gives them back, types and all."""

from __future__ import annotations

import io
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_up_store import FACTS, files_of, made_up_cell, made_up_store, made_up_tables

from support.internals import PRIVATE_SOURCE
from verax.studies import open_study, pack

CELLS = [made_up_cell(seed=seed) for seed in range(3)]
NAMES = ["a", "b", "table", "without", "measure"]
TABLES = ["x", "y", "x y"]
words = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)


@st.composite
def columns(draw: st.DrawFn, rows: int, kind: int) -> pd.Series:
    def several(of: st.SearchStrategy[object]) -> list[object]:
        return draw(st.lists(of, min_size=rows, max_size=rows))

    if kind == 0:
        return pd.Series(several(st.integers(-(2**63), 2**63 - 1)), dtype="int64")
    if kind == 1:
        return pd.Series(several(st.floats(allow_nan=True)), dtype="float64")
    if kind == 2:
        return pd.Series(several(st.none() | words), dtype="str")
    if kind == 3:
        return pd.Series(several(st.booleans()), dtype="bool")
    if kind == 4:
        return pd.Series(several(st.none() | st.integers(0, 9)), dtype="Int64")
    if kind == 5:
        return pd.Series([None] * rows, dtype="object")
    if kind == 6:
        return pd.Series(several(st.integers(-128, 127)), dtype="int8")
    levels = st.lists(words if kind == 7 else st.integers(0, 99), unique=True, max_size=4)
    chosen = draw(levels)
    codes = several(st.integers(-1, len(chosen) - 1))
    index = pd.Index(chosen, dtype="str" if kind == 7 else "int64")
    return pd.Series(pd.Categorical.from_codes(np.array(codes, dtype="int8"), index))


@st.composite
def studies(draw: st.DrawFn) -> list[dict[str, pd.DataFrame]]:
    """Tables of cells; a column is of one kind in all cells, or without values."""
    kinds = {(t, name): draw(st.integers(0, 8)) for t in TABLES for name in NAMES}

    def table(of: str) -> pd.DataFrame:
        rows = draw(st.integers(0, 5))
        names = draw(st.lists(st.sampled_from(NAMES), unique=True, min_size=1))
        chosen = {name: draw(st.sampled_from([kinds[of, name], 5])) for name in names}
        return pd.DataFrame({name: draw(columns(rows, kind)) for name, kind in chosen.items()})

    count = draw(st.integers(1, len(CELLS)))
    having = st.lists(st.sampled_from(TABLES), unique=True, min_size=1)
    return [{of: table(of) for of in draw(having)} for _ in range(count)]


def values(frame: pd.DataFrame) -> pd.DataFrame:
    """A table as values: categories and missing ones as plain objects."""
    return frame.astype(object).where(frame.notna(), None)


@pytest.mark.slow
@settings(max_examples=30)
@given(studies())
def test_packing_loses_nothing(given: list[dict[str, pd.DataFrame]]) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        study, packed, again = (Path(scratch) / name for name in ("study", "packed", "again"))
        store = made_up_store(study, [], CELLS)
        for cell, own in zip(CELLS, given, strict=False):
            files = files_of(cell, {**made_up_tables(), **own})
            store.commit(cell.key, cell.to_json(), files, FACTS)
        pack(study, packed)
        shutil.copytree(packed, again / "packed")
        store = made_up_store(again, [], CELLS)
        assert store.verify() == {}
        opened = open_study(packed)
        for cell, own in zip(CELLS, given, strict=False):
            for name in own:
                expected = pd.read_parquet(study / "cells" / cell.key / f"{name}.parquet")
                found = getattr(opened, PRIVATE_SOURCE).table(cell.key, name).to_pandas()
                found = found[list(expected)]
                pd.testing.assert_frame_equal(values(found), values(expected))
                for column, kind in expected.dtypes.items():
                    if isinstance(kind, np.dtype) and kind.kind in "ifb" and len(found):
                        assert found[column].dtype == kind
                file = io.BytesIO(store.read(cell.key, f"{name}.parquet"))
                pd.testing.assert_frame_equal(
                    values(pd.read_parquet(file)[list(expected)]), values(expected)
                )
