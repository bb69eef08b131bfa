"""HashedDropout is even, independent, and blind to how a batch was cut."""

from __future__ import annotations

import pytest
import torch
from scipy import stats

from verax.models import HashedDropout


def noise(documents: int = 40, width: int = 30, seed: int = 0, step: int = 0) -> HashedDropout:
    return HashedDropout.of(torch.arange(documents), width, seed, step)


@pytest.mark.parametrize("p", [0.1, 0.3, 0.7])
def test_dropout_drops_its_share_and_keeps_the_mean(p: float) -> None:
    dropped = noise().dropout(torch.ones(40, 30, 64), p, place=1)
    share = (dropped == 0).double().mean()
    n = dropped.numel()
    assert abs(share - p) < 4 * (p * (1 - p) / n) ** 0.5
    assert dropped.unique().numel() == 2
    torch.testing.assert_close(dropped.max(), torch.tensor(1 / (1 - p)))


def test_uniform_is_uniform() -> None:
    draws = noise(200, 100).uniform(3).flatten()
    assert draws.min() >= 0
    assert draws.max() < 1
    assert stats.kstest(draws.numpy(), "uniform").pvalue > 1e-3


def test_draws_are_uncorrelated_over_features_positions_documents_places_and_steps() -> None:
    def kept(**which: int) -> torch.Tensor:
        place = which.pop("place", 1)
        values = noise(60, 40, **which).dropout(torch.ones(60, 40, 32), 0.5, place)
        return (values > 0).double() - 0.5

    base = kept()
    pairs = [
        (base[..., :-1], base[..., 1:]),
        (base[:, :-1], base[:, 1:]),
        (base[:-1], base[1:]),
        (base, kept(place=2)),
        (base, kept(step=1)),
        (base, kept(seed=1)),
    ]
    for left, right in pairs:
        correlation = 4 * (left * right).mean()
        assert abs(correlation) < 4 / left.numel() ** 0.5


def test_a_document_is_treated_alike_in_any_batch_and_under_any_padding() -> None:
    whole = noise(10, 30).dropout(torch.ones(10, 30, 16), 0.4, 1)
    part = HashedDropout.of(torch.tensor([7, 2]), 12, 0, 0).dropout(torch.ones(2, 12, 16), 0.4, 1)
    assert torch.equal(part, whole[[7, 2], :12])
    sentences = noise(10, 30).columns(5).dropout(torch.ones(10, 5, 16), 0.4, 1)
    fewer = (
        HashedDropout.of(torch.tensor([7]), 12, 0, 0)
        .columns(3)
        .dropout(torch.ones(1, 3, 16), 0.4, 1)
    )
    assert torch.equal(fewer[0], sentences[7, :3])


def test_sentences_are_not_dropped_as_words_are() -> None:
    words = noise(10, 5).dropout(torch.ones(10, 5, 64), 0.5, 1)
    sentences = noise(10, 5).columns(5).dropout(torch.ones(10, 5, 64), 0.5, 1)
    assert 0.4 < (words == sentences).double().mean() < 0.6


def test_rows_has_one_key_a_document() -> None:
    assert noise(4, 9).rows().keys.shape == (4,)


def test_no_dropout_leaves_the_very_tensor() -> None:
    values = torch.randn(4, 9, 3)
    assert noise(4, 9).dropout(values, 0.0, 1) is values
