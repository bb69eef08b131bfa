"""The rules of verdicts: a truth table, Fisher's test, and that they are monotone."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from research.papers.verdicts import (
    CANNOT,
    DOES_NOT,
    IN_PART,
    MARKS,
    REPLICATES,
    VERDICTS,
    PaperComparison,
    Part,
    combined,
    judged,
    lenient,
    strict,
)
from verax.statistics import SeedMean

ONE = SeedMean.of([1.0], ["a"])


def comparison(difference: float, half: float = math.nan) -> PaperComparison:
    return PaperComparison("", difference, difference - half, difference + half, ONE)


UP, DOWN = comparison(3, 1), comparison(-3, 1)
LIKELY, UNLIKELY = comparison(1, 2), comparison(-1, 2)
SAME_UP, SAME_DOWN, LEVEL = comparison(1, 0), comparison(-1, 0), comparison(0, 0)
BARE = comparison(1)


@pytest.mark.parametrize(
    ("comparisons", "need", "verdict"),
    [
        ([], 1.0, CANNOT),
        ([UP], 1.0, REPLICATES),
        ([DOWN], 1.0, DOES_NOT),
        ([LIKELY], 1.0, CANNOT),  # nothing is clear
        ([UNLIKELY], 1.0, CANNOT),
        ([BARE] * 9, 1.0, CANNOT),  # one seed each
        ([SAME_UP], 1.0, REPLICATES),  # a cell that is the same in all seeds counts
        ([SAME_DOWN, UP], 1.0, IN_PART),
        ([SAME_DOWN], 0.5, DOES_NOT),
        ([LEVEL], 1.0, CANNOT),
        ([UP, LIKELY, LIKELY], 1.0, REPLICATES),
        ([UP, UP, DOWN], 1.0, IN_PART),
        ([UP, UP, DOWN], 2 / 3, REPLICATES),
        ([UP, UP, UNLIKELY], 1.0, IN_PART),
        ([UP, DOWN], 2 / 3, IN_PART),  # one of two is half
        ([UP, DOWN, DOWN], 2 / 3, DOES_NOT),
        ([UP, DOWN], 0.5, REPLICATES),
        ([UP, UNLIKELY, UNLIKELY], 1.0, CANNOT),  # the clear one and the others disagree
        ([DOWN, LIKELY, LIKELY], 1.0, CANNOT),
        ([UP] * 7 + [DOWN] * 3, 0.7, REPLICATES),  # 0.7 of 10 is 7, whatever floats make of it
        ([UP] * 6 + [DOWN] * 4, 0.7, IN_PART),
        ([UP] * 4 + [DOWN] * 6, 0.7, DOES_NOT),
    ],
)
def test_the_truth_table(comparisons: list[PaperComparison], need: float, verdict: str) -> None:
    part = Part("", comparisons, need)
    assert part.verdict == verdict
    assert judged([part]) == verdict


@pytest.mark.parametrize(
    ("ours", "tally", "verdict"),
    [
        ((3, 4), (10, 16), REPLICATES),  # no smaller a share
        ((10, 16), (10, 16), REPLICATES),
        ((6, 12), (10, 16), IN_PART),  # fewer, by chance perhaps, and half
        ((2, 6), (14, 24), CANNOT),
        ((4, 18), (14, 24), DOES_NOT),
        ((0, 1), (10, 16), CANNOT),
        ((7, 8), (8, 8), IN_PART),
    ],
)
def test_a_tally_is_compared_as_a_tally(
    ours: tuple[int, int], tally: tuple[int, int], verdict: str
) -> None:
    """Whether a comparison is clear has no part in it: the paper's tally has none either."""
    number, of = ours
    part = Part("", [LIKELY] * number + [UNLIKELY] * (of - number), 1.0, tally)
    assert part.verdict == verdict
    table = [[number, of - number], [tally[0], tally[1] - tally[0]]]
    # P(X ≤ number) of a hypergeometric draw of `of` from both tallies
    chance = stats.hypergeom.cdf(number, of + tally[1], number + tally[0], of)
    assert part.fisher == pytest.approx(chance), table


@pytest.mark.parametrize(
    ("verdicts", "verdict"),
    [
        ([], CANNOT),
        ([REPLICATES, REPLICATES], REPLICATES),
        ([REPLICATES, IN_PART], IN_PART),
        ([REPLICATES, DOES_NOT], IN_PART),
        ([REPLICATES, CANNOT], IN_PART),
        ([DOES_NOT, CANNOT], CANNOT),
        ([DOES_NOT, DOES_NOT, REPLICATES], DOES_NOT),
        ([REPLICATES, CANNOT, CANNOT], CANNOT),
        ([CANNOT], CANNOT),
    ],
)
def test_parts_make_a_claim(verdicts: list[str], verdict: str) -> None:
    assert combined(verdicts) == verdict


def test_other_rules_ask_for_all_and_for_a_majority() -> None:
    most = Part("", [UP, UP, UNLIKELY])
    half = Part("", [UP, DOWN])
    assert (strict([most]), lenient([most])) == (DOES_NOT, REPLICATES)
    assert (strict([half]), lenient([half])) == (DOES_NOT, DOES_NOT)
    assert lenient([most, half]) == IN_PART
    assert (strict([Part("", [BARE])]), lenient([Part("", [BARE])])) == (REPLICATES, REPLICATES)
    assert strict([Part("", [UNLIKELY, LIKELY], 1.0, (1, 2))]) == REPLICATES
    assert strict([Part("", [UP]), Part("", [])]) == CANNOT
    assert (strict([]), lenient([])) == (CANNOT, CANNOT)


def test_every_verdict_has_a_mark() -> None:
    assert set(MARKS) == set(VERDICTS)
    assert len(set(MARKS.values())) == 4


KINDS = st.sampled_from([UP, DOWN, LIKELY, UNLIKELY, SAME_UP, SAME_DOWN, LEVEL, BARE])
SUPPORTING = st.sampled_from([UP, LIKELY, SAME_UP, BARE])
CONTRARY = st.sampled_from([DOWN, UNLIKELY, SAME_DOWN, LEVEL])
TALLIES = st.none() | st.sampled_from([(10, 16), (14, 24), (8, 8), (1, 9)])
PARTS = st.lists(
    st.builds(
        Part,
        st.just(""),
        st.lists(KINDS, max_size=9),
        st.sampled_from([0.5, 2 / 3, 0.75, 0.9, 1.0]),
        TALLIES,
    ),
    min_size=1,
    max_size=4,
)
RULES = pytest.mark.parametrize("rule", [judged, strict, lenient])


def appended(parts: list[Part], where: int, one: PaperComparison) -> list[Part]:
    at = where % len(parts)
    part = parts[at]
    longer = Part(part.name, [*part.comparisons, one], part.need, part.tally)
    return [*parts[:at], longer, *parts[at + 1 :]]


@pytest.mark.slow
@given(PARTS, st.integers(0, 3), CONTRARY)
def test_a_contrary_comparison_never_raises_a_verdict(
    parts: list[Part], where: int, one: PaperComparison
) -> None:
    after = judged(appended(parts, where, one))
    assert VERDICTS.index(after) <= VERDICTS.index(judged(parts))


@pytest.mark.slow
@given(PARTS, st.integers(0, 3), SUPPORTING)
def test_a_supporting_comparison_never_lowers_a_verdict(
    parts: list[Part], where: int, one: PaperComparison
) -> None:
    after = judged(appended(parts, where, one))
    assert VERDICTS.index(after) >= VERDICTS.index(judged(parts))


@pytest.mark.slow
@RULES
@given(
    st.lists(KINDS, min_size=1, max_size=9), st.sampled_from([0.5, 2 / 3, 1.0]), TALLIES, CONTRARY
)
def test_so_it_is_for_other_rules_where_there_is_something_to_compare(
    rule: object, kinds: list[PaperComparison], need: float, tally: object, one: PaperComparison
) -> None:
    part = [Part("", kinds, need, tally)]  # type: ignore[arg-type]
    before, after = rule(part), rule(appended(part, 0, one))  # type: ignore[operator]
    assert VERDICTS.index(after) <= VERDICTS.index(before)


@given(st.lists(KINDS, min_size=1, max_size=9), st.floats(0.1, 1.0), st.floats(0.1, 1.0))
def test_a_part_that_needs_fewer_is_no_harder(
    kinds: list[PaperComparison], one: float, other: float
) -> None:
    easy, hard = sorted((one, other))
    ranks = [VERDICTS.index(Part("", kinds, need).verdict) for need in (easy, hard)]
    assert ranks[0] >= ranks[1]
