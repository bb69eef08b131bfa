"""Correlations against counting pairs, closed forms, SciPy and every order."""

from __future__ import annotations

import itertools
import math
from dataclasses import astuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from support.errors import raises
from verax.statistics import correlations

NAN = math.nan
settings_and_values = st.lists(
    st.tuples(st.integers(-3, 3), st.integers(-3, 3)), min_size=2, max_size=6
)


def tau_b(x: list[int], y: list[int]) -> float:
    """(concordant − discordant) / √(pairs untied in x · pairs untied in y)."""
    pairs = list(itertools.combinations(range(len(x)), 2))
    left = np.array([np.sign(x[i] - x[j]) for i, j in pairs])
    right = np.array([np.sign(y[i] - y[j]) for i, j in pairs])
    return float((left * right).sum() / math.sqrt((left**2).sum() * (right**2).sum()))


def ranks(x: list[int]) -> list[float]:
    return [sum(b < a for b in x) + (x.count(a) + 1) / 2 for a in x]


@pytest.mark.slow
@given(settings_and_values)
def test_against_counting(pairs: list[tuple[int, int]]) -> None:
    x, y = (list(side) for side in zip(*pairs, strict=True))
    found = correlations(x, y)
    assert found.n == len(pairs)
    if len(set(x)) == 1 or len(set(y)) == 1:
        assert all(math.isnan(number) for number in astuple(found)[:6])
        return
    assert found.tau == pytest.approx(tau_b(x, y), abs=1e-12)
    assert found.pearson == pytest.approx(np.corrcoef(x, y)[0, 1], abs=1e-9)
    rho = np.corrcoef(ranks(x), ranks(y))[0, 1]
    assert found.spearman == pytest.approx(rho, abs=1e-9)
    orders = itertools.permutations(ranks(y))
    every = np.array([np.corrcoef(ranks(x), order)[0, 1] for order in orders])
    assert found.spearman_p == pytest.approx((np.abs(every) >= abs(rho) - 1e-9).mean())


@pytest.mark.parametrize("n", [9, 60])
def test_against_scipy(n: int) -> None:
    x, noise = np.random.default_rng(n).normal(size=(2, n))
    y = x + 2 * noise
    found = correlations(x, y)
    for name, function in (
        ("tau", stats.kendalltau),
        ("spearman", stats.spearmanr),
        ("pearson", stats.pearsonr),
    ):
        value, p = function(x, y)
        assert getattr(found, name) == pytest.approx(value, abs=1e-12)
        assert getattr(found, f"{name}_p") == pytest.approx(p, abs=1e-12)


def test_few_settings_in_order_are_not_certain() -> None:
    """Two of n! orders are as far from none: rising and falling."""
    for n in range(2, 9):
        found = correlations(range(n), np.arange(n) ** 3)
        assert (found.tau, found.spearman) == pytest.approx((1, 1))
        assert found.tau_p == pytest.approx(2 / math.factorial(n))
        assert found.spearman_p == pytest.approx(2 / math.factorial(n))


@pytest.mark.parametrize(
    ("x", "y"),
    [
        ([], []),
        ([1], [2]),
        ([1, 2, 3], [0.3, 0.3, 0.1 + 0.2]),
        ([2, 2, 2], [1, 2, 3]),
        ([1, NAN, 3], [NAN, 1, 2]),
    ],
)
def test_what_is_undefined_is_nan(x: list[float], y: list[float]) -> None:
    found = correlations(x, y)
    assert all(math.isnan(number) for number in astuple(found)[:6])
    assert found.n + found.excluded == len(x)


def test_nan_pairs_are_left_out_and_counted() -> None:
    found = correlations([0, 1, NAN, 2, 3], [5, 6, 1, NAN, 9])
    assert (found.n, found.excluded) == (3, 2)
    assert astuple(found)[:6] == astuple(correlations([0, 1, 3], [5, 6, 9]))[:6]


@pytest.mark.slow
@given(st.lists(st.tuples(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6)), max_size=12))
def test_lies_between_minus_one_and_one(pairs: list[tuple[float, float]]) -> None:
    x, y = [a for a, _ in pairs], [b for _, b in pairs]
    found = correlations(x, y)
    for value in (found.tau, found.spearman, found.pearson):
        assert math.isnan(value) or abs(value) <= 1 + 1e-9
    for p in (found.tau_p, found.spearman_p, found.pearson_p):
        assert math.isnan(p) or 0 <= p <= 1
    back = correlations([-a for a in x], y)
    assert back.tau == pytest.approx(-found.tau, nan_ok=True)
    assert back.spearman == pytest.approx(-found.spearman, nan_ok=True)


def test_sides_must_be_as_long() -> None:
    with raises("statistics.bad-values"):
        correlations([1, 2], [1])
