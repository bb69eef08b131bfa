"""Sums over sums: against scikit-learn, finite differences, the bootstrap, and by coverage."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import f1_score

from verax.statistics import RatioEstimate, average, bootstrap, f1, mean, ratio, share

NAN = math.nan
Array = np.ndarray


def sklearns(labels: Array, decided: Array, classes: int) -> float:
    of = [1] if classes == 2 else list(range(classes))
    return float(f1_score(labels, decided, labels=of, average="macro", zero_division=0.0))


def made_up(n: int, classes: int, seed: int, right: float = 0.7) -> tuple[Array, Array]:
    """Labels, and decisions of which a share is right."""
    random = np.random.default_rng(seed)
    labels = random.choice(classes, n, p=np.arange(1, classes + 1) / (classes * (classes + 1) / 2))
    decided = np.where(random.random(n) < right, labels, random.integers(classes, size=n))
    return labels, decided


def has_no_interval(estimate: RatioEstimate, value: float) -> bool:
    found, low, high = estimate.interval
    same = found == pytest.approx(value, nan_ok=True)
    return bool(same and math.isnan(low) and math.isnan(high))


# -- values

pairs = st.integers(2, 6).flatmap(
    lambda classes: st.tuples(
        st.just(classes),
        st.lists(
            st.tuples(st.integers(0, classes - 1), st.integers(0, classes - 1)),
            min_size=1,
            max_size=25,
        ),
    )
)


@pytest.mark.slow
@given(pairs)
def test_f1_is_scikit_learns(given: tuple[int, list[tuple[int, int]]]) -> None:
    """Often with classes that are nowhere, and with none decided for."""
    classes, both = given
    labels, decided = np.array(both).T
    found = f1(labels, decided, classes)
    assert found.value == pytest.approx(sklearns(labels, decided, classes), abs=1e-12)
    assert found.influence.shape == labels.shape
    assert found.influence.mean() == pytest.approx(0, abs=1e-9)


def test_f1_with_more_classes_than_occur() -> None:
    """Two classes at F1 1 and ½, of four: the others are 0."""
    labels, decided = [0, 0, 1, 1, 1], [0, 0, 1, 3, 3]
    assert f1(labels, decided, 4).value == pytest.approx((1 + 0.5 + 0 + 0) / 4)
    assert sklearns(np.array(labels), np.array(decided), 4) == pytest.approx(1.5 / 4)


def test_of_two_classes_f1_is_the_positives() -> None:
    """tp 2, fp 1, fn 1: 4 / 6. The negatives' would be 2 / 4."""
    assert f1([1, 1, 1, 0, 0], [1, 1, 0, 1, 0], 2).value == pytest.approx(4 / 6)


def test_ratio_and_share_by_hand() -> None:
    found = ratio(np.array([1.0, 5.0]), np.array([2.0, 10.0]))
    assert found.value == 0.5
    assert found.influence.tolist() == [0, 0]
    found = ratio(np.array([1.0, 3.0]), np.array([1.0, 1.0]))
    assert (found.value, found.influence.tolist()) == (2, [-1, 1])
    assert share(np.array([1.0, 3.0])).influence.tolist() == [-1, 1]


# -- influence: what an instance that gains weight does


def derivative(statistic: Callable[[Array], float], n: int) -> Array:
    """n times the change of a statistic of weighted instances, as each gains a little weight."""
    step, ones = 1e-6, np.ones(n)
    up, down = (
        np.array([statistic(ones + sign * step * row) for row in np.eye(n)]) for sign in (1, -1)
    )
    return n * (up - down) / (2 * step)


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_influence_on_f1_is_its_slope(classes: int) -> None:
    labels, decided = made_up(30, classes, seed=classes)
    of = [1] if classes == 2 else list(range(classes))

    def weighted(weights: Array) -> float:
        return f1_score(
            labels, decided, labels=of, average="macro", zero_division=0.0, sample_weight=weights
        )

    found = f1(labels, decided, classes)
    np.testing.assert_allclose(found.influence, derivative(weighted, 30), atol=1e-6)


def test_influence_on_a_pooled_mean_is_its_slope() -> None:
    random = np.random.default_rng(1)
    above, below = random.normal(size=20), random.integers(1, 9, 20).astype(float)
    found = ratio(above, below)
    slope = derivative(lambda weights: float(weights @ above / (weights @ below)), 20)
    np.testing.assert_allclose(found.influence, slope, atol=1e-6)


@pytest.mark.slow
@given(
    st.lists(st.tuples(st.floats(-100, 100), st.floats(0.1, 100)), min_size=1, max_size=20),
    st.floats(-5, 5),
)
def test_sums_differences_and_multiples(rows: list[tuple[float, float]], factor: float) -> None:
    above, below = np.array(rows).T
    one, other = ratio(above, below), share(above)
    for found, value, influence in (
        (one + other, one.value + other.value, one.influence + other.influence),
        (one - other, one.value - other.value, one.influence - other.influence),
        (one.times(factor), factor * one.value, factor * one.influence),
        (
            average([one, other, other]),
            (one.value + 2 * other.value) / 3,
            (one.influence + 2 * other.influence) / 3,
        ),
    ):
        assert found.value == pytest.approx(value)
        np.testing.assert_allclose(found.influence, influence, rtol=1e-9, atol=1e-6)
        assert found.influence.mean() == pytest.approx(0, abs=1e-6)


def test_the_average_of_one_is_itself() -> None:
    one = share(np.array([1.0, 2.0, 4.0]))
    assert average([one]).interval == one.interval


# -- intervals


@pytest.mark.slow
@given(st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=30))
def test_a_share_has_students_interval(values: list[float]) -> None:
    given = np.array(values)
    if np.ptp(given) < 1e-6:
        return
    found = share(given).interval
    assert found == pytest.approx(mean(given), rel=1e-9, abs=1e-9)
    expected = stats.ttest_1samp(given, 0).confidence_interval(0.95)
    assert found[1:] == pytest.approx((expected.low, expected.high), rel=1e-6, abs=1e-9)


def counts_f1(labels: Array, decided: Array) -> Callable[..., Array]:
    """F1 of class 1 of the instances drawn, (…, n) places; written without sums over sums."""

    def statistic(places: Array, axis: int = -1) -> Array:
        drawn = places.astype(int)
        true, said = labels[drawn] == 1, decided[drawn] == 1
        precision = (true & said).sum(axis) / said.sum(axis)
        recall = (true & said).sum(axis) / true.sum(axis)
        return 2 * precision * recall / (precision + recall)

    return statistic


def check_against_the_bootstrap(
    estimate: RatioEstimate, statistic: Callable[..., Array], n: int, off: float = 0.08
) -> None:
    """Ends within a share of the interval's width of the percentile bootstrap's."""
    value, low, high = estimate.interval
    drawn = bootstrap(np.arange(n), statistic, method="percentile", resamples=6000)
    assert value == pytest.approx(drawn.value)
    assert (low, high) == pytest.approx((drawn.low, drawn.high), abs=off * (drawn.high - drawn.low))


def test_f1_against_the_bootstrap() -> None:
    labels, decided = made_up(400, 2, seed=0)
    check_against_the_bootstrap(f1(labels, decided, 2), counts_f1(labels, decided), 400)


def test_a_difference_of_f1_on_the_same_instances_against_the_bootstrap() -> None:
    """Decisions that mostly agree: far narrower than two intervals that know nothing of it."""
    labels, decided = made_up(400, 2, seed=0)
    random = np.random.default_rng(1)
    other = np.where(random.random(400) < 0.15, 1 - decided, decided)
    left, right = f1(labels, other, 2), f1(labels, decided, 2)
    difference = left - right
    one, two = counts_f1(labels, other), counts_f1(labels, decided)
    check_against_the_bootstrap(difference, lambda p, axis=-1: one(p, axis) - two(p, axis), 400)
    widths = [e.interval[2] - e.interval[1] for e in (difference, left, right)]
    assert widths[0] < 0.7 * math.hypot(*widths[1:])


def test_the_average_of_draws_against_the_bootstrap() -> None:
    """F1 averaged over five sets of decisions: instances are drawn, the sets stay together."""
    labels, _ = made_up(300, 2, seed=3)
    sets = [made_up(300, 2, seed=3)[1]]
    random = np.random.default_rng(4)
    sets += [np.where(random.random(300) < 0.3, 1 - sets[0], sets[0]) for _ in range(4)]
    every = [counts_f1(labels, decided) for decided in sets]
    found = average([f1(labels, decided, 2) for decided in sets])
    check_against_the_bootstrap(
        found, lambda p, axis=-1: np.mean([one(p, axis) for one in every], axis=0), 300
    )


@pytest.mark.slow
def test_macro_f1_against_the_bootstrap() -> None:
    labels, decided = made_up(300, 3, seed=5)

    def statistic(places: Array) -> float:
        drawn = places.astype(int)
        return sklearns(labels[drawn], decided[drawn], 3)

    value, low, high = f1(labels, decided, 3).interval
    drawn = bootstrap(np.arange(300), statistic, method="percentile", resamples=600)
    assert value == pytest.approx(drawn.value)
    assert (low, high) == pytest.approx((drawn.low, drawn.high), abs=0.12 * (high - low))


def test_a_pooled_mean_against_the_bootstrap() -> None:
    """Long documents say something else than short ones, so that the pooled mean is no mean."""
    random = np.random.default_rng(6)
    items = random.integers(1, 60, 300).astype(float)
    alone = 0.5 + 0.004 * items + random.normal(0, 0.1, 300)
    found = ratio(alone * items, items)

    def statistic(places: Array, axis: int = -1) -> Array:
        drawn = places.astype(int)
        return (alone[drawn] * items[drawn]).sum(axis) / items[drawn].sum(axis)

    check_against_the_bootstrap(found, statistic, 300)
    assert found.value > alone.mean() + 0.01


@pytest.mark.parametrize(("n", "least"), [(60, 0.90), (300, 0.93)])
def test_f1_is_covered_about_as_often_as_promised(n: int, least: float) -> None:
    """P(label 1) = 0.4, sensitivity 0.8, specificity 0.7: F1 = 2·0.32 / (0.4 + 0.32 + 0.18)."""
    random = np.random.default_rng(7)
    covered, differences = [], []
    for _ in range(500):
        labels = random.random(n) < 0.4
        says = [
            np.where(labels, random.random(n) < 0.8, random.random(n) < 0.3),
            np.where(labels, random.random(n) < 0.6, random.random(n) < 0.3),
        ]
        one, other = (f1(labels, decided, 2) for decided in says)
        _, low, high = one.interval
        covered.append(low <= 0.64 / 0.9 <= high)
        _, low, high = (other - one).interval
        differences.append(low <= 0.48 / 0.82 - 0.64 / 0.9 <= high)
    for found in (covered, differences):
        assert least < np.mean(found) < 0.98


# -- where there is none


@pytest.mark.parametrize("labels", [[NAN] * 4, [0, 1, NAN, 1]])
@pytest.mark.parametrize("classes", [2, 3])
def test_without_labels_there_is_no_f1(labels: list[float], classes: int) -> None:
    found = f1(labels, [0, 1, 1, 1], classes)
    assert has_no_interval(found, NAN)
    assert has_no_interval(found - found, NAN)
    assert has_no_interval(average([found, found]), NAN)


def test_a_missing_value_leaves_no_mean() -> None:
    assert has_no_interval(share(np.array([1.0, NAN, 0.0])), NAN)


@pytest.mark.parametrize(
    ("labels", "decided", "value"),
    [
        ([1, 0, 1, 0], [1, 0, 1, 0], 1),
        ([1, 0, 1, 0], [0, 0, 0, 0], 0),
        ([0, 0, 0, 0], [0, 0, 0, 0], 0),
        ([1, 0, 1, 0], [0, 1, 0, 1], 0),
        ([1, 1, 1], [1, 1, 1], 1),
        ([1], [1], 1),
        ([1], [0], 0),
    ],
)
def test_all_or_nothing_has_no_interval(
    labels: list[int], decided: list[int], value: float
) -> None:
    """No instance that gains weight would change it."""
    assert has_no_interval(f1(labels, decided, 2), value)
    assert sklearns(np.array(labels), np.array(decided), 2) == value


def test_all_classes_right_or_wrong() -> None:
    labels = np.array([0, 1, 2, 0, 1, 2])
    assert has_no_interval(f1(labels, labels, 3), 1)
    assert has_no_interval(f1(labels, (labels + 1) % 3, 3), 0)


def test_a_sum_of_nothing_has_no_ratio() -> None:
    assert has_no_interval(ratio(np.zeros(3), np.zeros(3)), NAN)
    assert has_no_interval(ratio(np.zeros(0), np.zeros(0)), NAN)


def test_one_instance_has_no_interval() -> None:
    assert has_no_interval(share(np.array([0.3])), 0.3)
    assert has_no_interval(ratio(np.array([0.3 * 7]), np.array([7.0])), 0.3)


@pytest.mark.parametrize("value", [0.0, 0.1, 0.3, 1 / 3, 0.7, 1.0])
@pytest.mark.parametrize("n", [3, 7, 10, 50])
def test_instances_that_are_all_alike_have_no_interval(value: float, n: int) -> None:
    """Nothing moves their mean but rounding."""
    assert has_no_interval(share(np.full(n, value)), value)


@pytest.mark.parametrize("draws", [3, 6, 7, 10])
def test_the_same_decisions_in_every_draw_differ_by_nothing(draws: int) -> None:
    """Ten times ⅔ is not quite 6⅔: what is left of the difference is rounding, and no interval."""
    labels, decided = made_up(40, 2, seed=8)
    trained = f1(labels, decided, 2)
    again = average([f1(labels, decided, 2)] * draws)
    assert again.value == pytest.approx(trained.value)
    assert has_no_interval(again - trained, 0)
