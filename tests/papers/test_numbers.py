"""A number over seeds: mean, spread, interval, and how far from a published one is too far."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from support.internals import OVER_DOCUMENTS as DOCUMENTS
from support.internals import OVER_SEEDS as SEEDS
from support.internals import SeedMean, as_json, entry
from verax.papers.numbers import BOTH

NAN = math.nan
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


def test_it_is_told_as_json_has_it() -> None:
    told = of(0.5, interval=(0.4, 0.6)).to_dict()
    assert json.loads(as_json(told)) == {
        "value": 0.5,
        "sd": None,
        "low": 0.4,
        "high": 0.6,
        "over": "documents",
        "seeds": 1,
        "n": 7,
        "cells": ["cell0"],
    }
    written = as_json([1.0, NAN, math.inf, -math.inf, np.float64(0.5), 1 / 3])
    assert json.loads(written) == [1.0, None, None, None, 0.5, 1 / 3]
    assert json.loads(as_json({"a": (1 / 3,)}, digits=2)) == {"a": [0.33]}


def test_of_two_seeds_tables_have_both_values_and_no_interval_beyond_what_can_be() -> None:
    shares = of(99.0, NAN, 60.0)
    assert shares.high > 100
    told = shares.to_dict()
    assert (told["low"], told["high"], told["over"], told["seeds"]) == (60.0, 99.0, BOTH, 2)
    assert of(60.0, 99.0, 80.0).to_dict()["over"] == SEEDS


def test_a_row_of_an_exhibit_has_the_number_and_its_cells() -> None:
    row = entry({"corpus": "sst"}, "F1", of(0.8, 0.9), 0.5, 5)
    assert row["cells"] == "cell0 cell1"
    assert row["beyond"] is of(0.8, 0.9).is_beyond(0.5, 5)
    assert (row["corpus"], row["measure"], row["published"]) == ("sst", "F1", 0.5)
    nothing = entry({"corpus": "sst"}, "F1", None, 0.5)
    assert list(nothing) == list(row)
    assert math.isnan(nothing["value"])
    assert (nothing["over"], nothing["seeds"], nothing["cells"]) == ("none", 0, "")
