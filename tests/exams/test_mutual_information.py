"""Mutual information from counts, against scikit-learn, SciPy and cases worked out by hand."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import mutual_info_score
from sklearn.metrics.cluster import contingency_matrix, expected_mutual_information

from support.errors import raises
from verax.functional import mutual_information, shuffled_information
from verax.models import AttentionClassifier

Make = Callable[..., AttentionClassifier]
NAN = math.nan


labellings = st.lists(st.tuples(st.integers(-3, 6), st.integers(0, 5)), min_size=1, max_size=60)


@pytest.mark.slow
@given(labellings)
def test_information_is_scikit_learns(pairs: list[tuple[int, int]]) -> None:
    a, b = np.array(pairs).T
    found = mutual_information(a, b)
    assert found.value == pytest.approx(mutual_info_score(a, b), abs=1e-12)
    entropies = [stats.entropy(np.unique(x, return_counts=True)[1]) for x in (a, b)]
    assert found.entropy == pytest.approx(entropies[0], abs=1e-12)
    assert 0 <= found.value <= min(entropies) + 1e-12
    assert mutual_information(b, a).value == pytest.approx(found.value, abs=1e-12)


@pytest.mark.slow
@given(labellings)
def test_each_label_has_the_divergence_of_its_own(pairs: list[tuple[int, int]]) -> None:
    """KL(p(B | a) ‖ p(B)), whose mean over occurrences is the information."""
    a, b = np.array(pairs).T
    found = mutual_information(a, b)
    labels, counts = np.unique(a, return_counts=True)
    assert found.labels.tolist() == labels.tolist()
    assert found.counts.tolist() == counts.tolist()
    everyone = np.bincount(b, minlength=6)
    for label, own in zip(labels, found.by_label, strict=True):
        there = np.bincount(b[a == label], minlength=6)
        expected = stats.entropy(there[everyone > 0], everyone[everyone > 0])
        assert own == pytest.approx(expected, abs=1e-12)
    assert found.value == pytest.approx(counts @ found.by_label / len(a), abs=1e-12)


@pytest.mark.slow
@given(st.lists(st.integers(0, 9), min_size=1, max_size=50))
def test_identical_labels_share_all_there_is(labels: list[int]) -> None:
    """Under whatever names, far apart or negative."""
    other = np.array([7, -3, 2**40, 11, -(2**50), 0, 1, 99, -1, 5])[labels]
    found = mutual_information(labels, other)
    assert found.value == pytest.approx(found.entropy, abs=1e-12)


def test_by_hand() -> None:
    """p(0, 0) = ½, p(1, 0) = p(1, 1) = ¼: H(A) = log 2, I = ½ log 4/3 + ¼ log ⅔ + ¼ log 2."""
    found = mutual_information([0, 0, 1, 1], [0, 0, 0, 1])
    assert found.value == pytest.approx(
        0.5 * math.log(4 / 3) + 0.25 * math.log(2 / 3) + 0.25 * math.log(2)
    )
    assert found.entropy == pytest.approx(math.log(2))
    assert found.by_label[0] == pytest.approx(math.log(4 / 3))


def test_labels_in_every_combination_share_nothing() -> None:
    a, b = (grid.ravel() for grid in np.meshgrid(np.arange(7), np.arange(11)))
    assert mutual_information(a, b).value == pytest.approx(0, abs=1e-12)


def test_independent_labels_share_what_shuffled_ones_do() -> None:
    random = np.random.default_rng(0)
    a, b = random.integers(50, size=4_000), random.integers(40, size=4_000)
    shuffled = shuffled_information(a, b, 0, 20)
    found = mutual_information(a, b).value
    assert abs(found - shuffled.mean()) < 5 * shuffled.std(ddof=1)
    assert found > 0.1  # far from nothing, though there is nothing


def test_shuffling_gives_the_expected_information_of_independent_labels() -> None:
    """Vinh et al. 2010 have it in closed form, as scikit-learn has."""
    random = np.random.default_rng(1)
    a = random.choice(30, 2_000, p=stats.zipfian.pmf(np.arange(1, 31), 1, 30))
    b = (a + random.integers(12, size=2_000)) % 25
    shuffled = shuffled_information(a, b, 3, 60)
    expected = expected_mutual_information(contingency_matrix(a, b, sparse=True), len(a))
    error = shuffled.std(ddof=1) / math.sqrt(60)
    assert abs(shuffled.mean() - expected) < 4 * error
    assert mutual_information(a, b).value > expected + 0.1


def test_shuffles_are_drawn_by_the_seed() -> None:
    random = np.random.default_rng(2)
    a, b = random.integers(9, size=300), random.integers(9, size=300)
    before = b.copy()
    one, again, other = (shuffled_information(a, b, seed, 4) for seed in (0, 0, 1))
    assert one.shape == (4,)
    assert one.tolist() == again.tolist()
    assert set(one).isdisjoint(other)
    assert len(set(one)) == 4
    assert (b == before).all()


@pytest.mark.parametrize(("a", "b"), [([], []), ([1], [1, 2]), ([[1, 2]], [[1, 2]])])
def test_labels_that_do_not_match_are_refused(a: list[int], b: list[int]) -> None:
    with raises("tensor.wrong-shape"):
        mutual_information(a, b)
