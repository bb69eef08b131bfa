"""Welch's test against SciPy, and what it says where there is no spread."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from support.errors import raises
from verax.statistics import welch

NAN = math.nan


@pytest.mark.parametrize(("n_a", "n_b"), [(2, 2), (3, 5), (12, 4), (200, 50)])
@pytest.mark.parametrize("scale", [1e-170, 1.0, 1e100])
def test_welch_is_scipys(n_a: int, n_b: int, scale: float) -> None:
    random = np.random.default_rng(n_a)
    a, b = random.normal(0.3, 1, n_a), random.normal(0, 3, n_b)
    found = welch(scale * a, scale * b)
    expected = stats.ttest_ind(a, b, equal_var=False)
    ends = expected.confidence_interval(0.95)
    assert found.p == pytest.approx(expected.pvalue, rel=1e-9)
    assert found.difference == pytest.approx(scale * (a.mean() - b.mean()), rel=1e-9)
    assert (found.low, found.high) == pytest.approx((scale * ends.low, scale * ends.high))
    assert (found.n_a, found.n_b, found.excluded) == (n_a, n_b, 0)


@pytest.mark.slow
@given(
    st.lists(st.floats(-10, 10).map(lambda x: round(x, 3)), min_size=2, max_size=6),
    st.lists(st.floats(-10, 10).map(lambda x: round(x, 3)), min_size=2, max_size=6),
)
def test_the_other_way_round_is_the_negative(a: list[float], b: list[float]) -> None:
    found, back = welch(a, b), welch(b, a)
    assert back.difference == pytest.approx(-found.difference)
    assert (back.low, back.high) == pytest.approx((-found.high, -found.low), nan_ok=True)
    assert back.p == pytest.approx(found.p, nan_ok=True)
    assert math.isnan(found.low) == (len(set(a)) == len(set(b)) == 1)


def test_one_constant_group_leaves_the_spread_to_the_other() -> None:
    """With s_a = 0 Welch's degrees of freedom are those of b, and t is b's own against a value."""
    a, b = [0.7, 0.7, 0.7], [0.1, 0.2, 0.4, 0.3]
    found = welch(a, b)
    expected = stats.ttest_1samp(b, 0.7)
    assert found.p == pytest.approx(expected.pvalue)
    ends = expected.confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((0.7 - ends.high, 0.7 - ends.low))


def test_two_constant_groups_have_no_interval() -> None:
    same = welch([0.1 + 0.2] * 3, [0.3] * 2)  # the same but for rounding
    assert (same.difference, same.p) == (0, 1)
    assert math.isnan(same.low)
    assert math.isnan(same.high)
    other = welch([1.0, 1.0], [0.5, 0.5])
    assert other.difference == 0.5
    assert math.isnan(other.p)
    assert math.isnan(other.low)
    zero = welch([0.0, 0.0], [0.0, 0.0])
    assert (zero.difference, zero.p) == (0, 1)


def test_what_is_not_there_is_left_out_and_counted() -> None:
    found = welch([1.0, NAN, 2.0], [NAN, 4.0, 5.0, 7.0])
    assert (found.n_a, found.n_b, found.excluded) == (2, 3, 2)
    assert found.p == pytest.approx(stats.ttest_ind([1, 2], [4, 5, 7], equal_var=False).pvalue)


@pytest.mark.parametrize(
    ("a", "b", "difference"),
    [([1.0], [2.0, 3.0], -1.5), ([], [2.0, 3.0], NAN), ([NAN], [1.0], NAN)],
)
def test_too_few_have_no_interval(a: list[float], b: list[float], difference: float) -> None:
    found = welch(a, b)
    assert found.difference == pytest.approx(difference, nan_ok=True)
    assert [found.low, found.high, found.p] == pytest.approx([NAN] * 3, nan_ok=True)


def test_infinite_values_are_refused() -> None:
    with raises("statistics.bad-values"):
        welch([1.0, math.inf], [1.0, 2.0])
