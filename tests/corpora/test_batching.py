"""Batches cover every document once, keep their budget, and waste little on padding."""

from __future__ import annotations

import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verax.corpora import load_corpus
from verax.corpora.batching import (
    micro_batches,
    padding_share,
    reading_batches,
    training_batches,
)

LENGTHS = st.lists(st.integers(1, 60), min_size=1, max_size=150).map(
    lambda lengths: np.array(lengths, dtype=np.int64)
)


def padded(rows: np.ndarray, lengths: np.ndarray) -> int:
    return len(rows) * int(lengths[rows].max())


@given(LENGTHS, st.integers(1, 40), st.integers(0, 5), st.integers(0, 5))
def test_an_epoch_reads_every_document_once(
    lengths: np.ndarray, size: int, seed: int, epoch: int
) -> None:
    batches = training_batches(lengths, size, seed, epoch)
    assert sorted(np.concatenate(batches).tolist()) == list(range(len(lengths)))
    assert all(1 <= len(rows) <= size for rows in batches)
    assert sum(len(rows) < size for rows in batches) <= 1
    assert len(batches) == -(-sum(map(len, batches)) // size)
    assert all((np.diff(lengths[rows]) <= 0).all() for rows in batches)


def test_a_seed_and_an_epoch_fix_the_batches() -> None:
    lengths = np.random.default_rng(0).integers(5, 40, 500)

    def flat(seed: int, epoch: int) -> list[list[int]]:
        return [rows.tolist() for rows in training_batches(lengths, 32, seed, epoch)]

    assert flat(1, 2) == flat(1, 2)
    assert len({str(flat(*key)) for key in ((1, 2), (1, 3), (2, 2), (2, 1))}) == 4


def test_neighbours_change_from_epoch_to_epoch() -> None:
    lengths = np.random.default_rng(0).integers(5, 40, 500)
    together = [
        {frozenset(rows.tolist()) for rows in training_batches(lengths, 32, 0, epoch)}
        for epoch in (1, 2)
    ]
    assert not together[0] & together[1]


def test_batches_do_not_come_in_order_of_length() -> None:
    lengths = np.arange(1, 1001)
    means = [lengths[rows].mean() for rows in training_batches(lengths, 32, 0, 1)]
    assert abs(np.corrcoef(means, np.arange(len(means)))[0, 1]) < 0.5


@pytest.mark.slow
@given(LENGTHS, st.integers(1, 200))
def test_micro_batches_keep_the_budget_and_the_order(lengths: np.ndarray, budget: int) -> None:
    rows = np.argsort(-lengths, kind="stable")
    pieces = micro_batches(rows, lengths, budget)
    assert np.concatenate(pieces).tolist() == rows.tolist()
    assert all(len(p) == 1 or padded(p, lengths) <= budget for p in pieces)


@pytest.mark.slow
@given(LENGTHS, st.integers(1, 2000))
def test_reading_batches_keep_the_budget_and_cover_everything(
    lengths: np.ndarray, budget: int
) -> None:
    batches = reading_batches(lengths, budget)
    assert sorted(np.concatenate(batches).tolist()) == list(range(len(lengths)))
    assert all(len(b) == 1 or padded(b, lengths) <= budget for b in batches)
    assert (np.diff(lengths[np.concatenate(batches)]) <= 0).all()


def test_reading_batches_are_cut_where_lengths_drop_but_not_below_32_documents() -> None:
    """100 of length 100, then 100 of 50: a cut at the drop; 10 then 100: the 10 take 22 along."""
    many = reading_batches(np.array([100] * 100 + [50] * 100), 10**6)
    assert [len(b) for b in many] == [100, 100]
    few = reading_batches(np.array([100] * 10 + [50] * 100), 10**6)
    assert [len(b) for b in few] == [32, 78]


def test_padding_share_is_one_minus_tokens_over_cells() -> None:
    """Lengths 4, 2 in one batch and 3 in another: 9 tokens in 8 + 3 cells."""
    lengths = np.array([4, 2, 3])
    assert padding_share([np.array([0, 1]), np.array([2])], lengths) == pytest.approx(1 - 9 / 11)


@pytest.fixture(scope="module", params=["planted", "rotten_tomatoes", "imdb_reviews"])
def built_in_lengths(request: pytest.FixtureRequest) -> np.ndarray:
    return load_corpus(request.param).train.token_numbers.lengths


@pytest.mark.slow
@pytest.mark.parametrize("size", [32, 64])
@pytest.mark.parametrize("boundaries", [0, 2])
def test_padding_stays_under_a_tenth_on_every_built_in(
    built_in_lengths: np.ndarray, size: int, boundaries: int
) -> None:
    lengths = built_in_lengths + boundaries
    for epoch in (1, 2, 3):
        assert padding_share(training_batches(lengths, size, 0, epoch), lengths) < 0.1
    assert padding_share(reading_batches(lengths, 16_384), lengths) < 0.1


@pytest.mark.slow
@pytest.mark.skipif(
    not os.environ.get("VERAX_DATA"), reason="$VERAX_DATA names no folder of corpora"
)
@pytest.mark.parametrize("name", ["sst", "ag_news", "eraser_movies", "yelp"])
def test_padding_stays_under_a_tenth_on_real_corpora(name: str) -> None:
    lengths = load_corpus(name).train.token_numbers.lengths
    assert padding_share(training_batches(lengths, 32, seed=0, epoch=1), lengths) < 0.1
