"""A number over seeds: mean, spread, interval, and how far from a published one is too far."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from verax.statistics import SeedMean

NAN = math.nan
SEEDS, DOCUMENTS, BOTH = "seeds", "documents", "both"
VALUES = st.lists(st.floats(-100, 100), min_size=2, max_size=8)


def of(*values: float, interval: tuple[float, float] = (NAN, NAN), n: int = 7) -> SeedMean:
    return SeedMean.of(values, [f"cell{i}" for i in range(len(values))], n, interval)


@pytest.mark.slow
@given(VALUES)
def test_seeds_have_students_interval(values: list[float]) -> None:
    number = of(*values)
    assert number.value == pytest.approx(np.mean(values), abs=1e-9)
    assert number.sd == pytest.approx(np.std(values, ddof=1), abs=1e-9)
    assert (number.over, number.seeds, number.n) == (SEEDS, len(values), 7)
    reach = stats.t.ppf(0.975, len(values) - 1) * stats.sem(values)
    assert number.high - number.value == pytest.approx(reach, abs=1e-9)
    assert number.value - number.low == pytest.approx(reach, abs=1e-9)


def test_one_seed_has_the_interval_of_its_documents() -> None:
    number = of(0.5, interval=(0.4, 0.62))
    assert (number.value, number.low, number.high, number.over) == (0.5, 0.4, 0.62, DOCUMENTS)
    assert math.isnan(number.sd)


def test_the_interval_of_documents_is_for_one_seed_alone() -> None:
    assert of(0.5, 0.7, interval=(0.0, 1.0)).over == SEEDS
    assert of(0.5, 0.7, interval=(0.0, 1.0)).low != 0.0


ENDS = [(0.1, 0.6), (0.3, 0.9), (0.2, 0.5)]


@pytest.mark.parametrize(
    ("values", "over", "low", "high"),
    [
        ([0.4], DOCUMENTS, 0.1, 0.6),
        ([0.4, 0.4], DOCUMENTS, 0.1, 0.9),
        ([0.4, NAN, 0.4 + 1e-12], DOCUMENTS, 0.1, 0.6),
        ([NAN, NAN], "none", NAN, NAN),
        ([0.4, 0.5, 0.45], SEEDS, 0.32579, 0.57421),
        ([0.0, 0.5, 0.4], SEEDS, 0.0, 0.95724),
        ([1.0000001, 0.5], SEEDS, 0.0, 1.0),
    ],
)
def test_seeds_that_agree_have_the_interval_of_all_documents(
    values: list[float], over: str, low: float, high: float
) -> None:
    number = SeedMean.of_intervals(values, ENDS[: len(values)], (0.0, 1.0))
    assert number.over == over
    assert (number.low, number.high) == pytest.approx((low, high), abs=1e-5, nan_ok=True)


def test_seeds_that_agree_need_an_interval_each() -> None:
    number = SeedMean.of_intervals([0.4, 0.4], [(0.1, 0.6), (NAN, NAN)])
    assert number.over == "none"
    assert SeedMean.of_intervals([0.4, NAN], [(0.1, 0.6), (NAN, NAN)]).over == DOCUMENTS


def test_bounds_do_not_leave_the_number_outside_of_its_interval() -> None:
    number = SeedMean.of_intervals([1.1, 1.2], ENDS[:2], (0.0, 1.0))
    assert (number.high, number.value) == (pytest.approx(1.15), pytest.approx(1.15))
    inside = SeedMean.of_intervals([0.45, 0.55], ENDS[:2], (-9.0, 9.0))
    assert (inside.low, inside.high) == (of(0.45, 0.55).low, of(0.45, 0.55).high)


@pytest.mark.parametrize("interval", [(NAN, NAN), (0.1, NAN), (NAN, 0.9)])
def test_half_an_interval_is_none(interval: tuple[float, float]) -> None:
    number = of(0.5, interval=interval)
    assert number.over == "none"


def test_a_seed_without_a_value_has_no_say() -> None:
    number = of(1.0, NAN, 3.0)
    assert (number.value, number.seeds) == (2.0, 2)
    assert number.sd == pytest.approx(math.sqrt(2))
    assert len(number.cells) == 3
    nothing = of(NAN, NAN)
    assert math.isnan(nothing.value)
    assert (nothing.seeds, nothing.over) == (0, "none")


@pytest.mark.slow
def test_beyond_is_where_the_mean_of_other_seeds_would_not_fall() -> None:
    """Of equally good runs one in twenty is beyond, whatever the numbers of seeds on each side."""
    draw = np.random.default_rng(0)
    for seeds, runs in [(3, 1), (5, 5), (2, 3)]:
        ours = draw.normal(4, 2, (4000, seeds))
        theirs = draw.normal(4, 2, (4000, runs)).mean(1)
        beyond = [of(*o).is_beyond(float(t), runs) for o, t in zip(ours, theirs, strict=True)]
        # 4,000 draws: three standard deviations are 0.0103
        assert np.mean(beyond) == pytest.approx(0.05, abs=0.0104)


@pytest.mark.slow
@given(VALUES, st.integers(1, 9), st.floats(-200, 200))
def test_beyond_is_the_prediction_interval(
    values: list[float], runs: int, published: float
) -> None:
    number = of(*values)
    error = np.std(values, ddof=1) * math.sqrt(1 / runs + 1 / len(values))
    reach = stats.t.ppf(0.975, len(values) - 1) * error
    gap = abs(published - np.mean(values)) - reach
    if abs(gap) > 1e-6:
        assert number.is_beyond(published, runs) is bool(gap > 0)


def test_beyond_needs_two_seeds_and_a_published_number() -> None:
    assert of(0.5, interval=(0.4, 0.6)).is_beyond(9.0, 1) is None
    assert of(0.5, NAN).is_beyond(9.0, 1) is None
    assert of(0.5, 0.6).is_beyond(NAN, 1) is None
    assert of(NAN, NAN).is_beyond(0.5, 1) is None
    assert of(0.5, 0.5).is_beyond(0.5, 1) is False
    assert of(0.5, 0.5).is_beyond(0.6, 1) is True


def test_of_two_seeds_tables_have_both_values_and_no_interval_beyond_what_can_be() -> None:
    shares = of(99.0, NAN, 60.0)
    assert shares.high > 100
    told = shares.to_dict()
    assert (told["low"], told["high"], told["over"], told["seeds"]) == (60.0, 99.0, BOTH, 2)
    assert of(60.0, 99.0, 80.0).to_dict()["over"] == SEEDS


def test_it_is_a_plain_mapping_for_json() -> None:
    told = of(0.5, interval=(0.4, 0.6)).to_dict()
    assert math.isnan(told.pop("sd"))
    assert told == {
        "value": 0.5,
        "low": 0.4,
        "high": 0.6,
        "over": "documents",
        "seeds": 1,
        "n": 7,
        "cells": ("cell0",),
    }


def test_numbers_combine_cell_by_cell() -> None:
    a, b = SeedMean.of([1.0, 2.0, 3.0], "xyz", 5), SeedMean.of([10.0, 30.0], "zx", 9)
    total = SeedMean.combined([(1.0, a), (-0.5, b)])
    assert (total.cells, total.values, total.n) == (("x", "z"), (-14.0, -2.0), 9)
    less = a.difference(b)
    assert (less.cells, less.values, less.n) == (("x", "y"), (-9.0, -28.0), 5)
    shares = SeedMean.percent([a, a], [b])
    assert (shares.cells, shares.n) == (("x", "z"), 30)
    assert shares.values == pytest.approx((200 / 30, 60.0))
    assert math.isnan(SeedMean.percent([a], [a.scaled(0.0)]).value)


def test_seeds_that_agree_are_constant() -> None:
    assert of(0.1 + 0.2, 0.3, NAN).is_constant
    assert not of(0.3, 0.31).is_constant
