"""Sums and shares of numbers: by hand, by SciPy, by properties."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verax.statistics import SeedMean

CELLS = ("a", "b", "c")
VALUES = st.lists(st.floats(-10, 10), min_size=3, max_size=3)


def of_seeds(values: list[float]) -> SeedMean:
    return SeedMean.of(values, CELLS[: len(values)], 100)


@given(VALUES, VALUES, st.floats(-3, 3), st.floats(-3, 3))
def test_a_sum_is_made_seed_by_seed(x: list[float], y: list[float], c: float, d: float) -> None:
    found = SeedMean.combined([(c, of_seeds(x)), (d, of_seeds(y))])
    expected = c * np.array(x) + d * np.array(y)
    assert found.values == pytest.approx(tuple(expected))
    assert found.value == pytest.approx(expected.mean(), abs=1e-9)
    assert found.sd == pytest.approx(expected.std(ddof=1), abs=1e-9)
    assert found.over == "seeds"


def test_only_cells_that_all_have_count() -> None:
    some = SeedMean.of([1.0, 2.0], ["b", "c"])
    found = SeedMean.combined([(1.0, of_seeds([10.0, 20.0, 30.0])), (1.0, some)])
    assert (found.values, found.cells) == ((21.0, 32.0), ("b", "c"))


@given(st.integers(0, 60), st.integers(0, 60))
def test_a_percentage_is_of_counts(hits: int, others: int) -> None:
    part, rest = (SeedMean.of([float(count)], ["a"]) for count in (hits, others))
    found = SeedMean.percent([part], [part, rest])
    if hits + others == 0:
        assert math.isnan(found.value)
        assert found.over == "none"
        return
    assert found.value == pytest.approx(100 * hits / (hits + others))
    assert found.n == hits + others


def test_a_percentage_of_several_seeds_leaves_out_those_with_nothing() -> None:
    hits, others = of_seeds([1.0, 0.0, 3.0]), of_seeds([3.0, 0.0, 1.0])
    found = SeedMean.percent([hits], [hits, others])
    assert found.values == pytest.approx((25.0, math.nan, 75.0), nan_ok=True)
    assert (found.value, found.seeds, found.over) == (50.0, 2, "seeds")


def test_a_percentage_as_documents() -> None:
    assert SeedMean.of([12.5], ["a"], 400).scaled(400 / 100).value == 50.0


def test_two_models_differ_seed_by_seed() -> None:
    a, b = of_seeds([3.0, 5.0, 7.0]), SeedMean.of([1.0, 1.0, 4.0], ["x", "y", "z"], 50)
    found = SeedMean.difference(a, b)
    assert (found.values, found.cells, found.n) == ((2.0, 4.0, 3.0), CELLS, 50)
