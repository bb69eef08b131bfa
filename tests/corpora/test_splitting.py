"""Cuts that are stratified, deterministic, blind to row order, and never part copies."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verax.corpora.splitting import cut, stratified_order

TEXTS = [f"text number {i}" for i in range(500)]
LABELS = ["a" if i % 5 else "b" for i in range(500)]


def test_every_row_is_in_exactly_one_part_in_source_order() -> None:
    parts = cut(TEXTS, LABELS, [0.1, 0.1], seed=0)
    assert sorted(np.concatenate(parts).tolist()) == list(range(500))
    assert all((np.diff(part) > 0).all() for part in parts)


def test_every_label_gives_its_share_to_every_part() -> None:
    rest, validation, test = cut(TEXTS, LABELS, [0.1, 0.2], seed=0)
    for label, count in (("a", 400), ("b", 100)):
        shares = [
            sum(LABELS[i] == label for i in part) / count for part in (rest, validation, test)
        ]
        assert shares == pytest.approx([0.7, 0.1, 0.2])


@given(st.integers(1, 60), st.floats(0.05, 0.45), st.floats(0.05, 0.45))
def test_a_class_of_any_size_is_less_than_one_document_off_its_share(
    n: int, first: float, second: float
) -> None:
    parts = cut(TEXTS[:n], ["x"] * n, [first, second], seed=3)
    for part, share in zip(parts, [1 - first - second, first, second], strict=True):
        assert abs(len(part) - share * n) < 1 + 1e-9


@pytest.mark.parametrize(("n", "sizes"), [(1, [1, 0, 0]), (2, [2, 0, 0]), (10, [8, 1, 1])])
def test_tiny_classes_stay_in_train(n: int, sizes: list[int]) -> None:
    assert [len(p) for p in cut(TEXTS[:n], ["x"] * n, [0.1, 0.1], seed=0)] == sizes


def test_the_same_seed_cuts_alike_and_another_does_not() -> None:
    once, again, other = (cut(TEXTS, LABELS, [0.1, 0.1], seed) for seed in (0, 0, 1))
    assert all((a == b).all() for a, b in zip(once, again, strict=True))
    assert set(once[2].tolist()) != set(other[2].tolist())


def test_row_order_does_not_matter() -> None:
    rows = list(range(500))
    random.Random(1).shuffle(rows)
    shuffled = cut([TEXTS[i] for i in rows], [LABELS[i] for i in rows], [0.1, 0.1], seed=0)
    straight = cut(TEXTS, LABELS, [0.1, 0.1], seed=0)
    for a, b in zip(straight, shuffled, strict=True):
        assert sorted(a.tolist()) == sorted(rows[i] for i in b)


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.sampled_from("xy")), max_size=60))
def test_no_cut_parts_copies_of_a_text_whatever_their_labels(rows: list[tuple[str, str]]) -> None:
    texts, labels = [t for t, _ in rows], [y for _, y in rows]
    parts = [{texts[i] for i in part} for part in cut(texts, labels, [0.3, 0.3], seed=0)]
    assert sum(map(len, parts)) == len(set(texts))


def test_places_lie_inside_the_unit_interval_even_for_half_characters() -> None:
    places = stratified_order(["a", "\ud800", "", "b"], [0, 0, 1, 1], seed=0)
    assert sorted(places[:2]) == sorted(places[2:]) == [0.25, 0.75]
    assert len(stratified_order([], [], seed=0)) == 0


def test_the_cut_is_the_same_for_ever() -> None:
    """Frozen: a change here would silently give every user other splits."""
    _, validation, test = cut(TEXTS[:40], LABELS[:40], [0.1, 0.1], seed=0)
    assert (validation.tolist(), test.tolist()) == ([6, 23, 34, 35], [3, 5, 24, 28])
