"""Comparisons against SciPy's tests: of two models, of one, and of a number with a bound."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from research.papers.verdicts import above, below, larger
from research.papers.words import as_json
from verax.statistics import SeedMean

NAN = math.nan
# told apart by more than rounding, so that SciPy does not warn of constant values
SEEDS = st.lists(st.integers(-50, 50).map(lambda n: n / 8), min_size=2, max_size=6)


def of(*values: float, name: str = "cell", interval: tuple[float, float] = (NAN, NAN)) -> SeedMean:
    return SeedMean.of(values, [f"{name}{i}" for i in range(len(values))], 10, interval)


@pytest.mark.slow
@given(SEEDS, SEEDS, st.sampled_from([0.0, 0.5, -1.0]))
def test_two_models_are_compared_by_welchs_interval(
    a: list[float], b: list[float], by: float
) -> None:
    assume(len(set(a)) > 1 and len(set(b)) > 1)
    found = larger("a > b", of(*a, name="a"), of(*b, name="b"), by)
    moved = [value + by for value in b]
    assert found.difference == pytest.approx(np.mean(a) - np.mean(moved), abs=1e-9)
    both = stats.ttest_ind(a, moved, equal_var=False).confidence_interval()
    assert (found.low, found.high) == pytest.approx((both.low, both.high), abs=1e-6)


@pytest.mark.slow
@given(
    st.lists(st.tuples(*[st.integers(-50, 50).map(lambda n: n / 8)] * 2), min_size=2, max_size=6)
)
def test_numbers_of_the_same_models_are_compared_seed_by_seed(
    pairs: list[tuple[float, float]],
) -> None:
    differences = [a - b - 0.5 for a, b in pairs]
    assume(len(set(differences)) > 1)
    a, b = (of(*side) for side in zip(*pairs, strict=True))
    found = larger("a > b", a, b, by=0.5)
    ends = stats.ttest_1samp(differences, 0).confidence_interval()
    assert found.difference == pytest.approx(np.mean(differences), abs=1e-9)
    assert (found.low, found.high) == pytest.approx((ends.low, ends.high), abs=1e-6)
    assert (found.a, found.b) == (a, b)


@pytest.mark.slow
@given(SEEDS, st.integers(-50, 50).map(lambda n: n / 8))
def test_a_bound_is_compared_by_students_interval(values: list[float], bound: float) -> None:
    assume(len(set(values)) > 1)
    number = of(*values)
    ends = stats.ttest_1samp(values, bound).confidence_interval()
    up, down = above("up", number, bound), below("down", number, bound)
    assert (up.low, up.high) == pytest.approx((ends.low - bound, ends.high - bound), abs=1e-6)
    assert (down.low, down.high) == pytest.approx((bound - ends.high, bound - ends.low), abs=1e-6)
    assert up.difference == pytest.approx(-down.difference)


def test_one_seed_has_a_direction_and_is_never_clear() -> None:
    """Its interval over documents says nothing of other seeds."""
    one = of(0.8, interval=(0.7, 0.9))
    for found in (
        larger("", one, of(0.5, 0.6, name="b")),
        larger("", one, of(0.5, interval=(0.4, 0.6))),
        above("", one, 0.5),
        below("", one, 0.9),
    ):
        assert found.is_for
        assert not found.is_clearly_for
        assert not found.is_clearly_against
    against = above("", one, 0.95)
    assert not against.is_for
    assert not against.is_clearly_against


@pytest.mark.parametrize("value", [0.5, 0.1, 0.0, 1e-9, -3.3, 100.0])
def test_what_is_the_same_in_all_seeds_is_clear(value: float) -> None:
    """0.1 thrice has a standard deviation of 1e-17, which is no spread."""
    same, other = of(value, value, value), of(value - 1, value - 1, name="b")
    for level in (above("", same, value), below("", same, value), larger("", same, same)):
        assert level.difference == 0.0
        assert not level.is_for
        assert not level.is_clearly_against
    for found in (above("", same, value - 1), below("", same, value + 1), larger("", same, other)):
        assert found.is_clearly_for
    assert below("", same, value - 1).is_clearly_against
    assert larger("", other, same).is_clearly_against


def test_a_constant_side_leaves_the_spread_to_the_other() -> None:
    found = larger("", of(0.5, 0.5, 0.5, name="a"), of(0.1, 0.2, 0.3, name="b"))
    ends = stats.ttest_1samp([0.4, 0.3, 0.2], 0).confidence_interval()
    assert (found.low, found.high) == pytest.approx((ends.low, ends.high))


def test_it_is_told_as_json_has_it() -> None:
    told = json.loads(as_json(larger("a > b", of(0.8), of(0.5, 0.6, name="b")).to_dict()))
    assert (told["label"], told["low"], told["high"]) == ("a > b", None, None)
    assert told["b"]["seeds"] == 2
    assert above("", of(0.8), 0.5).to_dict()["b"] is None
