"""Bootstrap intervals against every resample there is, and by how often they cover."""

from __future__ import annotations

import itertools
import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

from support.errors import raises
from verax.statistics import bootstrap, bootstrap_seeds

NAN = math.nan
SKEWED = np.random.default_rng(5).exponential(size=40)


def test_percentiles_against_every_resample() -> None:
    """All 5⁵ resamples of five values, equally likely."""
    values = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
    every = [np.mean(draw) for draw in itertools.product(values, repeat=5)]
    found = bootstrap(values, method="percentile", resamples=40_000)
    assert found.value == values.mean()
    assert (found.low, found.high) == pytest.approx(np.quantile(every, [0.025, 0.975]), rel=0.03)


@pytest.mark.slow
def test_bca_against_its_formula() -> None:
    """z₀ from the share below the estimate, a from the jackknife in closed form, for a mean.

    Leaving out xᵢ moves the mean by (x̄ − xᵢ) / (n − 1), so a = Σ(xᵢ − x̄)³ / 6 (Σ(xᵢ − x̄)²)^1.5.
    """
    resamples, away = 200_000, SKEWED - SKEWED.mean()
    drawn = np.random.default_rng(1).integers(40, size=(resamples, 40))
    distribution = SKEWED[drawn].mean(axis=1)
    bias = special.ndtri((distribution < SKEWED.mean()).mean())
    skew = (away**3).sum() / (6 * (away**2).sum() ** 1.5)
    ends = bias + special.ndtri([0.025, 0.975])
    expected = np.quantile(distribution, special.ndtr(bias + ends / (1 - skew * ends)))
    found = bootstrap(SKEWED, resamples=40_000)
    assert found.method == "bca"
    assert (found.low, found.high) == pytest.approx(expected, abs=0.012)
    plain = bootstrap(SKEWED, method="percentile", resamples=40_000)
    assert found.low > plain.low  # skewed to the right, so is its interval
    assert found.high > plain.high


@pytest.mark.slow
def test_means_are_covered_about_as_often_as_promised() -> None:
    """Of the mean 1 of 40 exponentials; Efron & Tibshirani: BCa falls a little short."""
    random = np.random.default_rng(2)
    found = [bootstrap(random.exponential(size=40), resamples=600, seed=i) for i in range(300)]
    covered = np.mean([f.low <= 1 <= f.high for f in found])
    assert 0.89 < covered < 0.97


@pytest.mark.parametrize("statistic", [np.mean, np.median, lambda values: max(values)])
def test_the_seed_decides_and_the_batch_does_not(statistic: object) -> None:
    one, other = (bootstrap(SKEWED, statistic, resamples=199, seed=s) for s in (0, 1))  # type: ignore[arg-type]
    assert one == bootstrap(SKEWED, statistic, resamples=199, batch=7)  # type: ignore[arg-type]
    assert one.value == other.value
    if statistic is np.mean:
        assert one != other


def test_memory_is_bounded() -> None:
    values = np.random.default_rng(3).normal(size=2_000)
    for run in (
        lambda: bootstrap(values, resamples=2_000, method="percentile"),
        lambda: bootstrap(values, resamples=500, batch=100),
        lambda: bootstrap_seeds([values, values], resamples=2_000),
    ):
        tracemalloc.start()
        run()
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        # all at once would be 2,000 × 2,000 × 8 bytes, twice: 64 MB
        assert peak < 40e6


def test_where_bca_is_undefined() -> None:
    constant = bootstrap([0.1] * 6)
    assert (constant.low, constant.high) == (constant.value, constant.value)
    assert constant.method == "percentile"
    # leaving out any one value leaves the median where it is
    median = bootstrap([1.0, 2.0, 2.0, 2.0, 2.0, 2.0, 9.0], np.median, resamples=499)
    assert (median.value, median.method) == (2.0, "percentile")
    assert median.low <= 2.0 <= median.high


def test_too_few_values_have_no_interval() -> None:
    for values, value in (([], NAN), ([NAN, NAN], NAN), ([3.0, NAN], 3.0)):
        found = bootstrap(values)
        assert found.value == pytest.approx(value, nan_ok=True)
        assert math.isnan(found.low)
        assert math.isnan(found.high)
        assert found.method == "none"
        assert found.excluded == sum(map(math.isnan, values))


def test_nan_is_left_out_and_counted() -> None:
    found = bootstrap([*SKEWED, NAN, NAN], resamples=99)
    assert (found.n, found.excluded) == (40, 2)
    assert found.low == bootstrap(SKEWED, resamples=99).low


def test_a_statistic_without_a_value_has_no_interval() -> None:
    found = bootstrap([1.0, 2.0, 3.0], lambda values: NAN, resamples=49)
    assert found.method == "none"
    assert math.isnan(found.low)


@settings(max_examples=25)
@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=12))
def test_an_interval_lies_within_the_values(values: list[float]) -> None:
    found = bootstrap(values, resamples=99)
    slack = 1e-9 * max(map(abs, values))
    assert min(values) - slack <= found.low <= found.high <= max(values) + slack


def test_two_levels_against_every_resample() -> None:
    """Two seeds of two and three values: seeds drawn in four ways, their means enumerated."""
    samples = [[0.0, 2.0], [5.0, 7.0, 12.0]]
    means = [[np.mean(d) for d in itertools.product(s, repeat=len(s))] for s in samples]
    outcomes, weights = [], []
    for first, second in itertools.product((0, 1), repeat=2):
        for pair in itertools.product(means[first], means[second]):
            outcomes.append(np.mean(pair))
            weights.append(0.25 / len(means[first]) / len(means[second]))
    order = np.argsort(outcomes)
    below = np.cumsum(np.array(weights)[order])
    low, high = (np.array(outcomes)[order][np.searchsorted(below, q)] for q in (0.025, 0.975))
    found = bootstrap_seeds(samples, resamples=40_000)
    assert found.value == (1 + 8) / 2
    assert (found.low, found.high) == pytest.approx((low, high), abs=0.35)
    assert (found.n, found.seeds, found.method) == (5, 2, "percentile")


def test_two_levels_have_the_variance_they_should() -> None:
    """Var = (between seeds + mean of within / n) / seeds, all over n; then ±1.96 sd."""
    random = np.random.default_rng(4)
    samples = [random.normal(random.normal(), 2, size=n) for n in random.integers(5, 25, size=40)]
    between = np.var([s.mean() for s in samples])
    within = np.mean([s.var() / len(s) for s in samples])
    half = 1.96 * math.sqrt((between + within) / 40)
    found = bootstrap_seeds(samples)
    assert (found.high - found.low) / 2 == pytest.approx(half, rel=0.04)
    assert found.value == pytest.approx(np.mean([s.mean() for s in samples]))


def test_two_levels_the_seed_decides_and_the_batch_does_not() -> None:
    samples = np.random.default_rng(6).normal(size=(4, 9))
    one = bootstrap_seeds(samples, resamples=199)
    assert one == bootstrap_seeds(samples, resamples=199, batch=3)
    assert one != bootstrap_seeds(samples, resamples=199, seed=1)


def test_two_levels_leave_out_and_count() -> None:
    found = bootstrap_seeds([[1.0, NAN], [NAN, NAN], [2.0, 4.0]], resamples=99)
    assert (found.value, found.n, found.excluded) == (2.0, 3, 3)
    assert (found.seeds, found.seeds_excluded) == (2, 1)
    for samples in ([], [[NAN]], [[1.0, 2.0]]):
        found = bootstrap_seeds(samples)
        assert found.method == "none"
        assert math.isnan(found.low)


def test_what_is_refused() -> None:
    with raises("option.unknown-value", "bac", "bca"):
        bootstrap([1.0, 2.0], method="bac")
    with raises("option.out-of-range", "resamples"):
        bootstrap([1.0, 2.0], resamples=0)
    with raises("option.out-of-range", "batch"):
        bootstrap_seeds([[1.0], [2.0]], batch=0)
    with raises("statistics.bad-values"):
        bootstrap([[1.0, 2.0]])
