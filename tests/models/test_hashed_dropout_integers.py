"""Whole numbers from noise: against the hash in Python's own integers, and by counting."""

from __future__ import annotations

import itertools

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from verax.models import HashedDropout

A, B, GOLDEN = 0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53, 0x9E3779B97F4A7C15
ALL = 2**64 - 1


def mixed(h: int) -> int:
    """MurmurHash3's finaliser, unsigned."""
    for constant in (A, B):
        h = (h ^ h >> 33) * constant & ALL
    return h ^ h >> 33


def number(document: int, position: int, seed: int, step: int, place: int) -> int:
    key = mixed(document * GOLDEN + position & ALL)
    salt = ((seed * GOLDEN + step) ^ place * A) * GOLDEN
    return mixed(key + salt & ALL) >> 2


@given(
    st.integers(0, 2**40),
    st.integers(0, 2**32 - 1),
    st.integers(0, 2**31),
    st.integers(0, 10_000),
)
def test_they_are_the_hash_in_pythons_own_integers(
    document: int, seed: int, step: int, place: int
) -> None:
    found = HashedDropout.of(torch.tensor([document, 3]), 2, seed, step).integers([place, 1])
    for (p, name), (d, key), position in itertools.product(
        enumerate([place, 1]), enumerate([document, 3]), range(2)
    ):
        assert found[p, d, position] == number(key, position, seed, step, name)


def noise(documents: int = 100, width: int = 40, seed: int = 0) -> HashedDropout:
    return HashedDropout.of(torch.arange(documents), width, seed, 0)


def test_they_lie_below_two_to_the_62_and_are_even_there() -> None:
    found = noise().integers(range(5))
    assert found.shape == (5, 100, 40)
    assert found.dtype == torch.int64
    assert found.min() >= 0
    assert found.max() < 2**62
    assert stats.kstest((found.flatten().double() / 2**62).numpy(), "uniform").pvalue > 1e-3


def test_every_bit_is_a_fair_coin_and_no_two_agree() -> None:
    """Sorting looks at the highest bits first, and at the lowest only where these are equal."""
    found = noise(200, 100).integers([7]).flatten()
    bits = (found.unsqueeze(-1) >> torch.arange(62)) & 1
    n = len(found)
    signs = 2 * bits.double() - 1
    assert (signs.mean(0).abs() < 4.5 / n**0.5).all()
    agreement = signs.T @ signs / n
    agreement.fill_diagonal_(0)
    assert (agreement.abs() < 5 / n**0.5).all()


def test_no_two_are_the_same() -> None:
    found = torch.cat([noise(seed=seed).integers(range(20)) for seed in (0, 1)])
    assert found.unique().numel() == found.numel()


def test_neighbours_are_not_related() -> None:
    found = noise(120, 60).integers(range(3)).double() / 2**62 - 0.5
    pairs = [
        (found[:-1], found[1:]),
        (found[:, :-1], found[:, 1:]),
        (found[..., :-1], found[..., 1:]),
        (found, noise(120, 60, seed=1).integers(range(3)).double() / 2**62 - 0.5),
    ]
    for left, right in pairs:
        correlation = 12 * (left * right).mean()
        assert abs(correlation) < 4 / left.numel() ** 0.5


def test_each_place_has_its_own_whatever_others_are_asked_for() -> None:
    found = noise().integers([5, 300, 5])
    assert found[0].equal(found[2])
    assert found[1].equal(noise().integers([300])[0])
    assert not found[0].equal(found[1])
    assert noise().integers([]).shape == (0, 100, 40)


def test_a_document_gets_its_own_in_any_batch() -> None:
    part = HashedDropout.of(torch.tensor([70, 2]), 12, 0, 0).integers([1, 2])
    assert part.equal(noise().integers([1, 2])[:, [70, 2], :12])
    assert noise().rows().integers([1]).equal(noise().integers([1])[..., 0])


@pytest.mark.parametrize("places", [[3], [3, 1, 500]])
def test_uniforms_are_their_highest_bits(places: list[int]) -> None:
    """And each of them is what `uniform` gives at that place."""
    numbers, shares = noise().integers(places), noise().uniforms(places)
    assert shares.equal((numbers >> 38).double() / 2**24)
    for place, share in zip(places, shares, strict=True):
        assert share.equal(noise().uniform(place))
