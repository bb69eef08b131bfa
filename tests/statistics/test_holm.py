"""Holm's adjustment against the step-down procedure as the textbook has it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.errors import raises
from verax.statistics import holm

p_values = st.lists(st.floats(0, 1), max_size=12)


def rejected(p: list[float], alpha: float) -> set[int]:
    """From the smallest up, reject while p₍ᵢ₎ ≤ α / (m − i + 1); stop at the first that is not."""
    found: set[int] = set()
    for step, place in enumerate(sorted(range(len(p)), key=lambda i: p[i])):
        if p[place] * (len(p) - step) > alpha:
            break
        found.add(place)
    return found


@given(p_values, st.floats(0.001, 0.999))
def test_rejects_what_the_procedure_rejects(p: list[float], alpha: float) -> None:
    assert {i for i, q in enumerate(holm(p)) if q <= alpha} == rejected(p, alpha)


@given(p_values)
def test_is_the_least_level_that_rejects(p: list[float]) -> None:
    """Levels at which the procedure's outcome can change are p₍ᵢ₎ (m − i + 1)."""
    levels = sorted({min(1.0, q * k) for q in p for k in range(1, len(p) + 1)})
    for place, adjusted in enumerate(holm(p)):
        assert adjusted == next((a for a in levels if place in rejected(p, a)), 1.0)


@given(p_values)
def test_between_raw_and_bonferroni_in_order(p: list[float]) -> None:
    raw, found = np.array(p), holm(p)
    assert (raw <= found).all()
    assert (found <= np.minimum(1, raw * len(raw))).all()
    assert (np.diff(found[np.argsort(raw)]) >= 0).all()


@pytest.mark.slow
@given(p_values.flatmap(lambda p: st.tuples(st.just(p), st.permutations(range(len(p))))))
def test_order_does_not_matter(given_: tuple[list[float], list[int]]) -> None:
    p, order = given_
    shuffled = [p[i] for i in order]
    assert holm(shuffled).tolist() == [holm(p)[i] for i in order]


@given(p_values, st.integers(0, 12))
def test_nan_stays_and_does_not_count(p: list[float], place: int) -> None:
    found = holm([*p[:place], math.nan, *p[place:]])
    assert math.isnan(found[min(place, len(p))])
    assert found[~np.isnan(found)].tolist() == holm(p).tolist()


def test_a_worked_example() -> None:
    """0.005·4, max(0.02, 0.01·3), max(0.03, 0.03·2), max(0.06, 0.04·1)."""
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]).tolist() == []
    assert holm([0.2]).tolist() == [0.2]


def test_what_is_refused() -> None:
    for p in ([1.2], [-0.1, 0.5]):
        with raises("statistics.bad-values"):
            holm(p)
    with raises("statistics.bad-values"):
        holm([[0.1]])
