"""Rankings and first flips, against erasing step by step and against autograd."""

from __future__ import annotations

import math

import pytest
import torch
from erasure_rows import batch
from hypothesis import given
from hypothesis import strategies as st

from support.internals import ranks_from_below, top_item
from verax.functional import first_flips, minimal_flip_sets
from verax.importance import weight_gradient
from verax.models import probabilities


def flip_step_by_step(
    weights: torch.Tensor,
    says: torch.Tensor,
    bias: torch.Tensor | None,
    mask: torch.Tensor,
    importance: torch.Tensor,
) -> tuple[int, float]:
    """One row, one item after another, the head applied to renormalised weights each time."""
    # plain numbers: a tensor a number takes most of the time
    own, said, score = weights.tolist(), says.tolist(), importance.tolist()
    alone = None if bias is None else bias.tolist()
    items = sorted(torch.nonzero(mask).flatten().tolist(), key=lambda i: (-score[i], i))

    def decided(left: list[int]) -> int | None:
        total = sum(own[i] for i in left)
        if total == 0:
            logits = alone
        else:
            logits = [sum(said[i][c] * own[i] / total for i in left) for c in range(len(said[0]))]
        if logits is None:
            return None
        if len(logits) == 1:
            return int(logits[0] > 0)
        return logits.index(max(logits))

    first = decided(items)
    for count in range(1, len(items) + 1):
        now = decided(items[count:])
        if now is not None and now != first:
            return count, sum(own[i] for i in items[:count])
    return -1, math.nan


@pytest.mark.slow
@given(st.integers(0, 10_000), st.integers(1, 5), st.booleans(), st.booleans())
def test_first_flips_against_erasing_one_by_one(
    seed: int, classes: int, with_bias: bool, zeros: bool
) -> None:
    weights, says, bias, mask = batch(seed, classes=classes, zeros=zeros)
    given_bias = bias if with_bias else None
    random = torch.rand(weights.shape, generator=torch.Generator().manual_seed(seed)).double()
    for importance in (weights, random, -says.sum(-1)):
        found = first_flips(weights, says, importance, mask, given_bias)
        for row in range(len(weights)):
            size, mass = flip_step_by_step(
                weights[row], says[row], given_bias, mask[row], importance[row]
            )
            assert found.size[row].item() == size
            assert found.mass[row].item() == pytest.approx(mass, abs=1e-12, nan_ok=True)


def test_equal_scores_go_in_order_of_position_and_masked_ones_never() -> None:
    scores = torch.tensor([[1.0, 2.0, 2.0, -7.0, 9.0]])
    mask = torch.tensor([[True, True, True, True, False]])
    assert ranks_from_below(scores, mask).tolist() == [[4, 3, 0, 2, 1]]
    assert top_item(scores, mask).tolist() == [1]


@pytest.mark.slow
@given(st.integers(0, 10_000), st.integers(1, 5), st.booleans())
def test_gradient_is_autograd_through_the_head_with_unequal_biases(
    seed: int, classes: int, single: bool
) -> None:
    random = torch.Generator().manual_seed(seed)
    head = torch.nn.Linear(6, 1 if single else classes + 1).double()
    with torch.no_grad():
        head.bias.copy_(torch.randn(head.bias.shape, generator=random))
        head.weight.copy_(torch.randn(head.weight.shape, generator=random))
    weights, _, _, mask = batch(seed)
    items = torch.randn(*weights.shape, 6, generator=random).double()
    free = weights.clone().requires_grad_()
    top = probabilities(head((free.unsqueeze(1) @ items).squeeze(1))).amax(-1).sum()
    (expected,) = torch.autograd.grad(top, free)
    found = weight_gradient(weights, head(items).detach(), head.bias.detach(), mask)
    assert torch.allclose(found, expected * mask, atol=1e-12)


@pytest.mark.parametrize("scale", [1.0, 30.0, 300.0, 3000.0])
def test_a_confident_decision_keeps_its_items_order(scale: float) -> None:
    """p_y is 1 to the last digit, yet what would move it most is the same item as before."""
    weights, says, _, mask = batch(7, rows=40, classes=2)
    bias = torch.zeros(2, dtype=torch.float64)
    slopes = weight_gradient(weights, says * scale, bias, mask)
    ranked = first_flips(weights, says * scale, weights * slopes, mask)
    assert torch.equal(ranked.size, minimal_flip_sets(weights, says * scale, mask).size)
    one = weight_gradient(weights, (says[..., 1:] - says[..., :1]) * scale, bias[:1], mask)
    order = ranks_from_below(slopes, mask)
    assert torch.equal(ranks_from_below(one, mask), order)


def test_with_the_bias_left_in_the_product_ranking_would_be_another() -> None:
    """g_i is ℓ_i − b through the softmax. With ℓ_i alone item 0 would come first, not item 1."""
    weights = torch.tensor([[0.6, 0.4]], dtype=torch.float64)
    says = torch.tensor([[[2.0, 0.0], [2.5, 0.0]]], dtype=torch.float64)
    mask = torch.ones(1, 2, dtype=torch.bool)
    bias = torch.tensor([2.0, 0.0], dtype=torch.float64)
    product = weights * weight_gradient(weights, says, bias, mask)
    naive = weights * weight_gradient(weights, says, torch.zeros(2), mask)
    assert product[0].argmax().item() == 1
    assert naive[0].argmax().item() == 0


@pytest.mark.slow
@given(st.integers(0, 10_000))
def test_two_classes_with_equal_biases_make_the_product_optimal(seed: int) -> None:
    weights, says, _, mask = batch(seed, classes=2)
    shift = float(seed % 7)
    bias = torch.full((2,), shift, dtype=torch.float64)
    product = weights * weight_gradient(weights, says, bias, mask)
    ranked = first_flips(weights, says, product, mask)
    assert torch.equal(ranked.size, minimal_flip_sets(weights, says, mask).size)


def test_the_product_ranking_is_not_always_optimal() -> None:
    """Unequal biases: α·g goes by ℓ − b, the optimum by ℓ.

    Weights (0.6, 0.2, 0.2) and gaps ℓ⁰ − ℓ¹ of (1, 3, −2.2): 0.6 + 0.6 − 0.44 > 0, so y = 0, and
    without the first two items the third alone says 1. No single item does it. With b⁰ − b¹ = 30
    the gaps less the bias are (−29, −27, −32.2): the product erases the second, then the third,
    leaving the first, which says 0, and then everything, which leaves the bias, which says 0.
    """
    weights = torch.tensor([[0.6, 0.2, 0.2]], dtype=torch.float64)
    gaps = torch.tensor([[1.0, 3.0, -2.2]], dtype=torch.float64)
    says = torch.stack([gaps, torch.zeros_like(gaps)], -1)
    mask = torch.ones(1, 3, dtype=torch.bool)
    bias = torch.tensor([30.0, 0.0], dtype=torch.float64)
    product = weights * weight_gradient(weights, says, bias, mask)
    assert product[0].argsort(descending=True).tolist() == [1, 2, 0]
    assert first_flips(weights, says, product, mask, bias).size.tolist() == [-1]
    least = minimal_flip_sets(weights, says, mask, bias)
    assert least.size.tolist() == [2]
    assert least.members.tolist() == [[True, True, False]]
