"""CSV in which no cell is a formula."""

from __future__ import annotations

import csv
import io

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.internals import guarded, unguarded
from verax.spreadsheets import from_csv, to_csv

FORMULAS = ["=1+1", "+1", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1", "=HYPERLINK(0)"]


@pytest.mark.parametrize("formula", FORMULAS)
def test_formulas_of_every_kind_are_text(formula: str) -> None:
    frame = pd.DataFrame({formula: [formula, "plain"], "n": [-1.5, 2.0]})
    head, first, _ = csv.reader(io.StringIO(to_csv(frame), newline=""))
    assert head[0] == first[0] == f"'{formula}"
    assert first[1] == "-1.5", "a number stays a number"


@given(st.text(alphabet="'=+-@\t a", max_size=6))
def test_text_comes_back(text: str) -> None:
    safe = guarded(text)
    assert unguarded(safe) == text
    assert not safe or safe[0] not in "=+-@\t"


def test_a_table_comes_back() -> None:
    frame = pd.DataFrame({"word": ["=A1", "'-", "good"], "score": [-0.5, 0.25, 1.0]})
    pd.testing.assert_frame_equal(
        from_csv(pd.read_csv(io.StringIO(to_csv(frame)))), frame, check_dtype=False
    )


def test_categories_and_what_is_missing() -> None:
    frame = pd.DataFrame({"word": pd.Categorical(["=a", None]), "n": pd.array([-1, None], "Int64")})
    assert to_csv(frame) == "word,n\n'=a,-1\n,\n"
