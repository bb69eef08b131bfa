"""Intervals against SciPy and statsmodels' published figures, and by how often they cover."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from verax.statistics import mean, proportion, quantile


@pytest.mark.parametrize(("successes", "n"), [(0, 10), (3, 10), (10, 10), (500, 1234)])
def test_proportion_is_wilsons(successes: int, n: int) -> None:
    expected = stats.binomtest(successes, n).proportion_ci(method="wilson")
    share, low, high = proportion(successes, n)
    assert share == successes / n
    assert (low, high) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_mean_is_students() -> None:
    values = np.random.default_rng(0).normal(size=17)
    expected = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    assert mean(values) == pytest.approx((values.mean(), expected.low, expected.high), abs=1e-12)


def test_quantile_against_scipy() -> None:
    values = np.random.default_rng(1).normal(size=201)
    for q in (0.25, 0.5, 0.75):
        expected = stats.quantile_test(values, p=q).confidence_interval(0.95)
        found, low, high = quantile(values, q)
        assert found == np.quantile(values, q)
        # SciPy's is the widest it could be; ours may be one order statistic narrower
        ordered = np.sort(values)
        places = np.searchsorted(ordered, [expected.low, low, high, expected.high])
        assert 0 <= places[1] - places[0] <= 1
        assert 0 <= places[3] - places[2] <= 1


def test_quantiles_are_covered_as_often_as_promised() -> None:
    random = np.random.default_rng(2)
    for q in (0.25, 0.5):
        truth = stats.norm.ppf(q)
        draws = [quantile(random.normal(size=80), q) for _ in range(800)]
        covered = np.mean([low <= truth <= high for _, low, high in draws])
        assert 0.93 < covered < 0.99


def test_what_is_not_defined_is_nan() -> None:
    empty = np.zeros(0)
    for found in (proportion(0, 0), mean(empty), quantile(empty, 0.5)):
        assert all(math.isnan(x) for x in found)
    assert mean(np.array([2.0]))[0] == 2.0
    assert math.isnan(mean(np.array([2.0]))[1])
    found, low, high = quantile(np.arange(9.0), 0.0)
    assert found == 0.0
    assert math.isnan(low)
    assert math.isnan(high)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60), st.floats(0.01, 0.99))
def test_an_interval_holds_its_number(values: list[float], q: float) -> None:
    for found, low, high in (mean(np.array(values)), quantile(np.array(values), q)):
        assert math.isnan(low) or low <= found + 1e-6
        assert math.isnan(high) or found <= high + 1e-6


def test_a_quantile_between_the_largest_numbers_does_not_overflow() -> None:
    largest = np.finfo(float).max
    found, _, _ = quantile(np.array([-largest, largest]), 0.5)
    assert found == 0
    assert math.isnan(quantile(np.array([math.nan, largest, -largest]), 0.5)[0])
