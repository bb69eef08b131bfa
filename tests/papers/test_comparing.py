"""Comparisons against SciPy's tests, and what many of them come to."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from verax.papers.comparing import (
    FAILS,
    HOLDS,
    UNDECIDED,
    PaperComparison,
    above,
    below,
    larger,
    together,
    weigh,
)
from verax.papers.numbers import SeedMean

NAN = math.nan
# told apart by more than rounding, so that SciPy does not warn of constant values
SEEDS = st.lists(st.integers(-50, 50).map(lambda n: n / 8), min_size=2, max_size=6)
RANKS = {(FAILS, False): 0, (FAILS, True): 1, (HOLDS, False): 2}
"""Verdict and whether it is narrow → how well a claim does."""


def of(*values: float, interval: tuple[float, float] = (NAN, NAN)) -> SeedMean:
    return SeedMean.of(values, [f"cell{i}" for i in range(len(values))], 10, interval)


def a_comparison(difference: float, error: float) -> PaperComparison:
    """A normal one; without an error, nothing tells the spread."""
    if error == 0:
        return PaperComparison("", difference, NAN, NAN, NAN, of(difference))
    reach = stats.norm.ppf(0.975) * error
    p = float(stats.norm.sf(difference / error))
    return PaperComparison(
        "", difference, difference - reach, difference + reach, p, of(difference)
    )


@given(SEEDS, SEEDS, st.sampled_from([0.0, 0.5, -1.0]))
def test_larger_is_welchs_test(a: list[float], b: list[float], by: float) -> None:
    assume(len(set(a)) > 1 and len(set(b)) > 1)
    found = larger("a > b", of(*a), of(*b), by)
    moved = [value + by for value in b]
    expected = stats.ttest_ind(a, moved, equal_var=False, alternative="greater")
    assert found.difference == pytest.approx(np.mean(a) - np.mean(moved), abs=1e-9)
    assert found.p == pytest.approx(expected.pvalue, abs=1e-9)
    both = stats.ttest_ind(a, moved, equal_var=False).confidence_interval()
    assert (found.low, found.high) == pytest.approx((both.low, both.high), abs=1e-6)


@given(SEEDS, st.integers(-50, 50).map(lambda n: n / 8))
def test_above_and_below_are_students_test(values: list[float], bound: float) -> None:
    assume(len(set(values)) > 1)
    number = of(*values)
    greater = stats.ttest_1samp(values, bound, alternative="greater").pvalue
    less = stats.ttest_1samp(values, bound, alternative="less").pvalue
    ends = stats.ttest_1samp(values, bound).confidence_interval()
    up, down = above("up", number, bound), below("down", number, bound)
    assert up.p == pytest.approx(greater, abs=1e-9)
    assert down.p == pytest.approx(less, abs=1e-9)
    assert (up.low, up.high) == pytest.approx((ends.low - bound, ends.high - bound), abs=1e-6)
    assert (down.low, down.high) == pytest.approx((bound - ends.high, bound - ends.low), abs=1e-6)
    assert up.difference == pytest.approx(-down.difference)


def test_far_tails_keep_their_digits() -> None:
    values = [1.0, 1.0001, 0.9999, 1.0002, 0.9998, 1.0, 1.0001, 0.9999]
    expected = stats.ttest_1samp(values, 0.0, alternative="greater").pvalue
    assert above("far", of(*values), 0.0).p == pytest.approx(expected, rel=1e-6)
    assert expected < 1e-16


def test_one_seed_is_compared_by_its_documents() -> None:
    a, b = of(0.8, interval=(0.7, 0.9)), of(0.5, interval=(0.45, 0.55))
    found = larger("a > b", a, b, by=0.1)
    z = stats.norm.ppf(0.975)
    error = math.hypot(0.1, 0.05) / z
    assert found.difference == pytest.approx(0.2)
    assert found.p == pytest.approx(stats.norm.sf(0.2 / error))
    assert (found.low, found.high) == pytest.approx((0.2 - z * error, 0.2 + z * error))
    alone = above("a > 0.6", a, 0.6)
    assert alone.p == pytest.approx(stats.norm.sf(0.2 * z / 0.1))
    assert (alone.low, alone.high) == pytest.approx((0.1, 0.3))
    seeds = of(0.4, 0.5, 0.6)
    mixed = larger("one against three", a, seeds)
    assert mixed.p == pytest.approx(
        stats.norm.sf(0.3 / math.hypot(0.1 / z, stats.sem([0.4, 0.5, 0.6])))
    )


def test_without_a_spread_there_is_no_p() -> None:
    bare = of(0.8)
    for found in (larger("", bare, of(0.5, 0.6)), above("", bare, 0.5), below("", bare, 0.9)):
        assert found.difference > 0
        assert all(math.isnan(value) for value in (found.p, found.low, found.high))
        assert found.is_for
        assert found.is_clearly_for
        assert not found.is_clearly_against
    against = above("", bare, 0.9)
    assert against.is_clearly_against
    assert not against.is_for


@pytest.mark.parametrize("value", [0.5, 0.1, 0.0, 1e-9, -3.3])
def test_constant_seeds_tell_no_spread(value: float) -> None:
    """0.1 thrice has a standard deviation of 1e-17, which is no spread."""
    same = of(value, value, value)
    for level in (above("", same, value), below("", same, value), larger("", same, same)):
        assert (level.difference, level.p) == (0.0, 0.5)
        assert not level.is_for
        assert not level.is_clearly_against
    for found in (above("", same, value - 1), below("", same, value + 1)):
        assert math.isnan(found.p)
        assert found.is_clearly_for
    assert below("", same, value - 1).is_clearly_against
    assert math.isnan(larger("", same, of(value - 1, value - 1)).p)


def test_a_constant_side_leaves_the_spread_to_the_other() -> None:
    found = larger("", of(0.5, 0.5, 0.5), of(0.1, 0.2, 0.3))
    expected = stats.ttest_1samp([0.1, 0.2, 0.3], 0.5, alternative="less").pvalue
    assert found.p == pytest.approx(expected)


@given(st.lists(st.floats(1e-12, 1 - 1e-12), min_size=1, max_size=12))
def test_many_are_one_by_stouffer(ps: list[float]) -> None:
    expected = stats.combine_pvalues(ps, method="stouffer").pvalue
    assert together(ps) == pytest.approx(expected, rel=1e-6, abs=1e-12)
    assert together([*ps, NAN]) == together(ps)


def test_stouffer_of_the_certain_and_of_nothing() -> None:
    assert together([0.0]) == pytest.approx(1e-15, rel=0.2)
    assert together([1.0]) == pytest.approx(1.0)
    assert together([0.0, 1.0]) == pytest.approx(0.5, abs=0.02)
    assert math.isnan(together([]))
    assert math.isnan(together([NAN, NAN]))


NARROWLY = "fails narrowly"
UP, UNSURE, DOWN = a_comparison(3, 1), a_comparison(0.1, 1), a_comparison(-3, 1)
BARE_UP, BARE_DOWN = a_comparison(1, 0), a_comparison(-1, 0)


@pytest.mark.parametrize(
    ("comparisons", "need", "said"),
    [
        ([], 1.0, UNDECIDED),
        ([UP], 1.0, HOLDS),
        ([DOWN], 1.0, FAILS),
        ([UNSURE], 1.0, NARROWLY),  # as claimed, and not beyond chance
        ([UP, UP, UP], 1.0, HOLDS),
        ([UP, UP, DOWN], 1.0, FAILS),  # one clearly against is too many for all
        ([UP, UP, DOWN], 0.6, HOLDS),  # z = 3/√3
        ([UP, UP, UNSURE], 1.0, HOLDS),
        ([UP, UNSURE, a_comparison(-0.1, 1)], 1.0, NARROWLY),  # a draw against: not enough are for
        ([UP, UP, UP, a_comparison(-0.1, 1)], 1.0, NARROWLY),  # p < 0.001, and one is not for
        ([a_comparison(-1, 1)] * 4, 0.5, FAILS),  # none is clear, together they are: z = −2
        ([a_comparison(-1, 1)] * 2, 0.5, NARROWLY),
        ([UP, DOWN], 0.5, NARROWLY),
        ([BARE_UP], 1.0, HOLDS),
        ([BARE_DOWN], 1.0, FAILS),
        ([BARE_UP, BARE_DOWN], 0.5, HOLDS),
        ([BARE_UP, BARE_DOWN], 0.6, FAILS),
        ([BARE_UP, UNSURE], 1.0, NARROWLY),
        ([UP] * 7 + [DOWN] * 3, 0.7, HOLDS),  # 0.7 of 10 is 7, whatever floats make of it
        ([UP] * 6 + [DOWN] * 4, 0.7, FAILS),
    ],
)
def test_the_truth_table(comparisons: list[PaperComparison], need: float, said: str) -> None:
    found = weigh(comparisons, need)
    assert found.verdict_words == said
    assert (found.verdict, found.narrowly) == (said.split()[0], said == NARROWLY)
    assert found.of == len(comparisons)
    assert found.favourable == sum(c.difference > 0 for c in comparisons)


def rank(comparisons: list[PaperComparison], need: float) -> int:
    found = weigh(comparisons, need)
    return RANKS[found.verdict, found.narrowly]


SPREADS = st.tuples(st.floats(-4, 4), st.sampled_from([0.0, 0.5, 1.0, 2.0]))


@given(
    st.lists(SPREADS, min_size=1, max_size=8),
    st.sampled_from([0.5, 0.6, 0.75, 1.0]),
    st.integers(0, 7),
    st.floats(0, 5),
)
def test_what_moves_in_its_favour_never_hurts_a_claim(
    given_: list[tuple[float, float]], need: float, which: int, by: float
) -> None:
    before = [a_comparison(*one) for one in given_]
    which %= len(before)
    difference, error = given_[which]
    after = list(before)
    after[which] = a_comparison(difference + by, error)
    assert rank(after, need) >= rank(before, need)


@given(st.lists(SPREADS, min_size=1, max_size=8), st.floats(0.1, 1.0), st.floats(0.1, 1.0))
def test_a_claim_that_needs_fewer_is_no_harder(
    given_: list[tuple[float, float]], one: float, other: float
) -> None:
    comparisons = [a_comparison(*each) for each in given_]
    easy, hard = sorted((one, other))
    assert rank(comparisons, easy) >= rank(comparisons, hard)


@given(st.lists(SPREADS, max_size=8), st.sampled_from([0.5, 0.6, 0.75, 1.0]))
def test_what_is_there_is_decided(given_: list[tuple[float, float]], need: float) -> None:
    """Exactly one of: holds, fails clearly, fails narrowly, undecided."""
    comparisons = [a_comparison(*each) for each in given_]
    found = weigh(comparisons, need)
    assert (found.verdict == UNDECIDED) == (not comparisons)
    assert not found.narrowly or found.verdict == FAILS
    if not comparisons:
        return
    assert found.clearly <= found.favourable <= found.of - found.contrary
    enough = found.favourable >= found.need
    clear = found.of - found.contrary < found.need or found.p > 0.95
    by_number = math.isnan(found.p)
    holds = not clear and enough and (by_number or found.p < 0.05)
    narrowly = not clear and not holds and not by_number
    assert (found.verdict == HOLDS, found.narrowly) == (holds, narrowly)


def test_what_a_verdict_hangs_on_is_told_in_words() -> None:
    assert weigh([UP, UP, DOWN], 0.6).test == (
        "2 of 3 as claimed, 2 of them clearly, 1 clearly not (2 needed); together p = 0.042, "
        "one-sided, Stouffer"
    )
    assert weigh([UP, UNSURE]).test.startswith("2 of 2 as claimed, 1 of them clearly, 0 clearly")
    assert "p < 0.001" in weigh([UP] * 4).test
    assert "p > 0.999" in weigh([DOWN] * 4).test
    assert "Stouffer" not in weigh([BARE_UP]).test
    assert weigh([]).test == "nothing to compare"


def test_it_is_told_as_json_has_it() -> None:
    told = larger("a > b", of(0.8), of(0.5, 0.6)).to_dict()
    assert (told["label"], told["p"], told["low"]) == ("a > b", None, None)
    assert told["b"]["seeds"] == 2
    assert replace(UP, b=None).to_dict()["b"] is None
