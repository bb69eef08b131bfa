"""Paired tests against SciPy and against every flip of signs."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from support.errors import raises
from verax.statistics import TESTS, paired

NAN = math.nan
RANDOM = np.random.default_rng(0)
A, B = RANDOM.normal(0.4, 1, size=(2, 12)) * [[1.0], [0.5]]


def flips(differences: list[float]) -> np.ndarray:
    """(2ⁿ, n) the differences under every choice of signs."""
    signs = itertools.product((1, -1), repeat=len(differences))
    return np.array(list(signs)) * np.array(differences)


def test_t_is_scipys() -> None:
    found = paired(A, B, "t")
    expected = stats.ttest_rel(A, B)
    assert found.p == pytest.approx(expected.pvalue, abs=1e-12)
    ends = expected.confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((ends.low, ends.high), abs=1e-12)
    assert found.difference == pytest.approx((A - B).mean())
    assert (found.n, found.excluded, found.test) == (12, 0, "t")


@pytest.mark.parametrize("n", [12, 40, 400])
def test_wilcoxon_is_scipys(n: int) -> None:
    a, b = np.random.default_rng(n).normal(0.1, 1, size=(2, n))
    assert paired(a, b).p == pytest.approx(stats.wilcoxon(a, b).pvalue, abs=1e-12)
    assert paired(a, b).test == "wilcoxon"


@pytest.mark.slow
@given(st.lists(st.integers(-4, 4), min_size=1, max_size=9))
def test_wilcoxon_with_ties_and_zeros_against_every_flip(steps: list[int]) -> None:
    """Of tenths, which floating point tells apart though they tie; zeros have no rank."""
    found = paired([0.5 + step / 10 for step in steps], [0.5] * len(steps))
    ranked = np.array([step for step in steps if step])
    if not len(ranked):
        assert found.p == 1.0
        return
    ranks = stats.rankdata(np.abs(ranked))
    away = np.abs(flips(list(ranks)).sum(axis=1))
    observed = abs((np.sign(ranked) * ranks).sum())
    assert found.p == pytest.approx((away >= observed - 1e-9).mean(), abs=1e-9)
    assert found.n == len(steps)


@given(st.lists(st.floats(-10, 10).map(lambda x: round(x, 3)), min_size=1, max_size=9))
def test_exact_permutation_against_every_flip(differences: list[float]) -> None:
    found = paired(differences, np.zeros(len(differences)), "permutation")
    sums = np.abs(flips(differences).sum(axis=1))
    assert found.p == pytest.approx((sums >= abs(sum(differences)) - 1e-9).mean())


def test_exact_permutation_against_scipy() -> None:
    expected = stats.permutation_test(
        (A, B), lambda x, y: np.mean(x - y), permutation_type="samples", n_resamples=np.inf
    )
    assert paired(A, B, "permutation").p == pytest.approx(expected.pvalue, abs=1e-12)


@pytest.mark.parametrize("z", [0.3, 1.0, 1.7])
def test_random_flips_near_the_normal_approximation(z: float) -> None:
    """Under random signs Σ ±dᵢ has mean 0 and variance Σ dᵢ²; d is shifted to lie z of it away."""
    d = np.random.default_rng(3).normal(size=300)
    d -= d.mean()
    shift = z * math.sqrt((d**2).sum() / (300 * (300 - z**2)))
    found = paired(d + shift, np.zeros(300), "permutation", resamples=20_000)
    assert found.p == pytest.approx(2 * stats.norm.sf(z), abs=0.01)
    assert found == paired(d + shift, np.zeros(300), "permutation", resamples=20_000)
    assert found.p != paired(d + shift, np.zeros(300), "permutation", resamples=20_000, seed=1).p


def test_random_flips_are_never_certain() -> None:
    found = paired(np.ones(60), np.zeros(60), "permutation", resamples=99)
    assert found.p == 1 / 100


@pytest.mark.slow
@given(
    st.lists(st.tuples(st.floats(-5, 5), st.floats(-5, 5)), min_size=1, max_size=9),
    st.sampled_from(sorted(TESTS)),
)
def test_sides_can_be_swapped(pairs: list[tuple[float, float]], test: str) -> None:
    assert_swapped(*(list(side) for side in zip(*pairs, strict=True)), test)


@pytest.mark.parametrize("n", range(10, 16))
@pytest.mark.parametrize("test", sorted(TESTS))
def test_sides_of_more_pairs_can_be_swapped(n: int, test: str) -> None:
    a, b = np.random.default_rng(n).uniform(-5, 5, size=(2, n))
    assert_swapped(list(a), list(b), test)


def assert_swapped(a: list[float], b: list[float], test: str) -> None:
    one, other = paired(a, b, test), paired(b, a, test)
    assert one.p == pytest.approx(other.p, nan_ok=True)
    assert one.difference == pytest.approx(-other.difference)
    assert one.low == pytest.approx(-other.high, nan_ok=True)
    assert math.isnan(one.p) or 0 <= one.p <= 1


@pytest.mark.parametrize("test", sorted(TESTS))
class TestEdges:
    def test_nothing(self, test: str) -> None:
        found = paired([], [], test)
        assert found.n == 0
        assert math.isnan(found.p)
        assert math.isnan(found.difference)

    def test_one_pair_tells_nothing(self, test: str) -> None:
        found = paired([2.0], [1.0], test)
        assert found.difference == 1.0
        assert math.isnan(found.low)
        assert math.isnan(found.p) if test == "t" else found.p == 1.0

    @pytest.mark.parametrize("n", [1, 2, 70])
    def test_no_difference(self, test: str, n: int) -> None:
        found = paired(np.full(n, 0.3), np.full(n, 0.1 + 0.2), test)  # but for rounding
        assert (found.difference, found.p) == (0.0, 1.0)

    def test_nan_is_left_out_and_counted(self, test: str) -> None:
        found = paired([*A, NAN, 1.0, NAN], [*B, 1.0, NAN, NAN], test)
        expected = paired(A, B, test)
        assert (found.p, found.n, found.excluded) == (expected.p, 12, 3)
        assert math.isnan(paired([NAN], [1.0], test).p)

    def test_a_constant_difference(self, test: str) -> None:
        found = paired([0.3, 0.4, 0.5, 0.6], [0.2, 0.3, 0.4, 0.5], test)
        assert found.difference == pytest.approx(0.1)
        # no spread for Student's t; two of sixteen flips are as far
        assert math.isnan(found.p) if test == "t" else found.p == pytest.approx(1 / 8)


@pytest.mark.parametrize("test", sorted(TESTS))
@pytest.mark.parametrize("scale", [1e-310, 1e-200, 1e150])
def test_the_unit_does_not_matter(test: str, scale: float) -> None:
    a, b = np.array([3.0, 1.0, 4.0, 1.0, 5.0]), np.array([2.0, 7.0, 1.0, 8.0, 2.0])
    assert paired(scale * a, scale * b, test).p == pytest.approx(paired(a, b, test).p)


@pytest.mark.parametrize("test", sorted(TESTS))
def test_values_near_the_largest_number_are_as_any_others(test: str) -> None:
    left, right = np.array([9.0, 4.0, 7.0, 1.0]), np.array([1.0, 2.0, 3.0, 2.0])
    huge = 2.0**1020
    assert paired(left * huge, right * huge, test).p == paired(left, right, test).p
    with raises("statistics.bad-values"):
        paired([1e308, 0.0], [-1e308, 0.0], test)


def test_what_is_refused() -> None:
    with raises("option.unknown-value", "wilcoxn", "wilcoxon"):
        paired([1.0], [2.0], "wilcoxn")
    with raises("statistics.bad-values"):
        paired([1.0], [2.0, 3.0])
    with raises("option.out-of-range", "resamples"):
        paired([1.0], [2.0], resamples=0)
    with raises("statistics.bad-values"):
        paired([1.0], [math.inf])
