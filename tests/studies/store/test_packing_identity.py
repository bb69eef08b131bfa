"""Whatever tables hold, unpacking what was packed gives them back, types and all."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_up_store import FACTS, files_of, made_up_cell, made_up_store, made_up_tables

from support.internals import PRIVATE_SOURCE
from verax.studies import Store, open_study, pack, unpack

CELLS = [made_up_cell(seed=seed) for seed in range(3)]
NAMES = ["a", "b", "table", "a_int64", "measure"]
words = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)


@st.composite
def columns(draw: st.DrawFn, rows: int) -> pd.Series:
    def several(of: st.SearchStrategy[object]) -> list[object]:
        return draw(st.lists(of, min_size=rows, max_size=rows))

    kind = draw(st.integers(0, 8))
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
    ordered = draw(st.booleans())
    made = pd.Categorical.from_codes(np.array(codes, dtype="int8"), index, ordered=ordered)
    return pd.Series(made)


@st.composite
def tables(draw: st.DrawFn) -> pd.DataFrame:
    rows = draw(st.integers(0, 5))
    names = draw(st.lists(st.sampled_from(NAMES), unique=True, min_size=1))
    return pd.DataFrame({name: draw(columns(rows)) for name in names})


studies = st.lists(
    st.dictionaries(st.sampled_from(["single_made", "summary", "x y"]), tables(), min_size=1),
    min_size=1,
    max_size=len(CELLS),
)


@pytest.mark.slow
@settings(max_examples=30)
@given(studies)
def test_packing_loses_nothing(given: list[dict[str, pd.DataFrame]]) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        study, packed, again = (Path(scratch) / name for name in ("study", "packed", "again"))
        store = made_up_store(study, [], CELLS)
        for cell, own in zip(CELLS, given, strict=False):
            files = files_of(cell, {**made_up_tables(), **own})
            store.commit(cell.key, cell.to_json(), files, FACTS)
        pack(study, packed)
        unpack(packed, again)
        assert Store.open(again).verify() == {}
        opened = open_study(packed)
        for cell, own in zip(CELLS, given, strict=False):
            for name in own:
                file = f"cells/{cell.key}/{name}.parquet"
                expected = pd.read_parquet(study / file)
                pd.testing.assert_frame_equal(pd.read_parquet(again / file), expected)
                assert pq.read_schema(again / file).equals(
                    pq.read_schema(study / file), check_metadata=True
                )
                direct = getattr(opened, PRIVATE_SOURCE).table(cell.key, name)
                pd.testing.assert_frame_equal(direct.to_pandas(), expected)
