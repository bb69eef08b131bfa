"""One item erased: erasure itself, and the items that are compared."""

from __future__ import annotations

import pytest
import torch
from erasure_rows import batch
from hypothesis import given
from hypothesis import strategies as st

from support.errors import raises
from support.internals import AffineStates, erase_each, random_item, top_item
from verax.functional import erase, jensen_shannon
from verax.models import probabilities


@given(st.integers(0, 10_000), st.booleans())
def test_erase_keeps_the_rest_in_proportion(seed: int, everything: bool) -> None:
    weights, _, _, mask = batch(seed, zeros=True)
    removed = torch.rand(weights.shape, generator=torch.Generator().manual_seed(seed)) < 0.5
    removed |= everything
    found = erase(weights, removed, mask)
    kept = weights * (~removed & mask)
    total = kept.sum(-1)
    assert ((found >= 0) & (found[removed | ~mask] == 0).all()).all()
    assert torch.allclose(found.sum(-1), (total > 0).double())
    assert torch.allclose(found * total.unsqueeze(-1), kept)


def test_erase_names_what_does_not_fit() -> None:
    weights = torch.full((2, 4), 0.25)
    there = torch.ones(2, 4, dtype=torch.bool)
    for name, arguments in (
        ("removed", (weights, there[:, :2], there)),
        ("removed", (weights, there.float(), there)),
        ("mask", (weights, there, there[0])),
    ):
        with raises("tensor.wrong-shape", name):
            erase(*arguments)


@pytest.mark.slow
@given(st.integers(0, 10_000), st.integers(1, 4))
def test_single_erasures_are_erase_and_a_head(seed: int, classes: int) -> None:
    weights, says, bias, mask = batch(seed, classes=classes, zeros=True)
    top = top_item(weights, mask)
    found = erase_each(AffineStates(weights, says, mask, bias), top.unsqueeze(-1))
    places = torch.arange(weights.shape[1])
    left = erase(weights, places == top.unsqueeze(-1), mask)
    logits = (left.unsqueeze(1) @ says).squeeze(1)
    logits = torch.where(left.sum(-1, keepdim=True) > 0, logits, bias)
    before = (weights.unsqueeze(1) @ says).squeeze(1)
    p, q = probabilities(before), probabilities(logits)
    assert torch.allclose(found.js[:, 0], jensen_shannon(p, q), atol=1e-14)
    assert torch.equal(found.flips[:, 0], p.argmax(-1) != q.argmax(-1))


def test_the_papers_random_item_is_any_other_all_equally_likely() -> None:
    mask = torch.tensor([[False, True, True, False, True, True]])
    uniform = torch.arange(0, 1, 1 / 300).double()
    many = mask.expand(len(uniform), -1)
    for top, others in ((1, [2, 4, 5]), (4, [1, 2, 5]), (5, [1, 2, 4])):
        found = random_item(torch.full((len(uniform),), top), uniform, many)
        values, counts = found.unique(return_counts=True)
        assert values.tolist() == others
        assert (counts - 100).abs().max() <= 1


def test_the_authors_random_item_is_never_the_first_and_may_be_the_top() -> None:
    mask = torch.tensor([[False, True, True, False, True, True]])
    uniform = torch.arange(0, 1, 1 / 300).double()
    many = mask.expand(len(uniform), -1)
    for top in (1, 4):
        found = random_item(torch.full((len(uniform),), top), uniform, many, "authors")
        assert found.unique().tolist() == [2, 4, 5]


def test_a_row_of_one_item_has_no_other() -> None:
    mask = torch.tensor([[False, True, False]])
    for rule in ("paper", "authors"):
        assert random_item(torch.tensor([1]), torch.tensor([0.9]), mask, rule).tolist() == [1]
