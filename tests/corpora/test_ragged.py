"""Ragged arrays against lists of lists."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from support.internals import Ragged, positions_within

LISTS = st.lists(st.lists(st.integers(0, 99), max_size=5), min_size=1, max_size=6)


def ragged(rows: list[list[int]]) -> Ragged:
    flat = np.array([value for row in rows for value in row], dtype=np.int64)
    return Ragged.from_lengths(flat, np.array([len(row) for row in rows], dtype=np.int64))


def plain(rows: Ragged) -> list[list[int]]:
    return [row.tolist() for row in rows]


@given(LISTS)
def test_rows_come_back_as_they_went_in(rows: list[list[int]]) -> None:
    made = ragged(rows)
    assert plain(made) == rows
    assert len(made) == len(rows)
    assert made.lengths.tolist() == [len(row) for row in rows]
    assert made.row_of_value.tolist() == [i for i, row in enumerate(rows) for _ in row]


@given(LISTS, st.data())
def test_take_is_a_look_up_in_any_order_with_repeats(rows: list[list[int]], data: st.DataObject):
    wanted = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=8))
    taken = ragged(rows).take(np.array(wanted, dtype=np.int64))
    assert plain(taken) == [rows[i] for i in wanted]


@given(LISTS)
def test_surround_puts_one_value_on_either_side(rows: list[list[int]]) -> None:
    assert plain(ragged(rows).surround(-1, -2)) == [[-1, *row, -2] for row in rows]


@given(st.lists(st.integers(0, 5), max_size=6))
def test_positions_count_from_zero_in_every_row(lengths: list[int]) -> None:
    expected = [place for length in lengths for place in range(length)]
    assert positions_within(np.array(lengths, dtype=np.int64)).tolist() == expected
