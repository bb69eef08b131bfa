"""More than two classes: the best edge point below, half-spaces above, certified if they meet."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from simplex_points import grid, rows
from torch import Tensor

from verax.divergence import jensen_shannon
from verax.exams.adversary import farthest_anywhere, most_divergent

EPSILONS = st.sampled_from([0.0, 0.01, 0.05, 0.2, 0.6, 1.0])


def several(
    seed: int, items: int, classes: int, scale: float = 3.0, zeros: bool = False
) -> tuple[Tensor, Tensor, Tensor]:
    weights, _, mask = rows(seed, items, batch=4, zeros=zeros)
    random = torch.Generator().manual_seed(seed + 1)
    says = scale * torch.randn(4, items, classes, generator=random, dtype=torch.float64)
    return weights, says, mask


def change(own: Tensor, others: Tensor, says: Tensor) -> Tensor:
    """|Δp| of the class decided for, written out."""
    before = (own @ says).softmax(-1)
    decided = before.argmax(-1)
    return ((others @ says).softmax(-1)[..., decided] - before[decided]).abs()


def edges(mask: Tensor, steps: int) -> Tensor:
    """Points on every edge of a row's simplex, (edges × steps, items)."""
    own = torch.eye(len(mask), dtype=torch.float64)[mask]
    t = torch.linspace(0, 1, steps, dtype=torch.float64).view(-1, 1, 1, 1)
    return (t * own.unsqueeze(0) + (1 - t) * own.unsqueeze(1)).flatten(0, 2)


@given(
    st.integers(0, 10_000), st.integers(2, 6), st.integers(3, 5), EPSILONS, st.sampled_from([1, 8])
)
def test_no_edge_point_is_farther_and_the_answer_is_what_it_says(
    seed: int, items: int, classes: int, epsilon: float, scale: float
) -> None:
    weights, says, mask = several(seed, items, classes, scale, zeros=seed % 2 == 0)
    found = most_divergent(weights, says, mask, epsilon)
    assert torch.allclose(found.jsd, jensen_shannon(found.weights, weights), atol=1e-12)
    assert (found.weights[~mask] == 0).all()
    assert torch.allclose(found.weights.sum(-1), torch.ones(4, dtype=torch.float64))
    assert (found.jsd <= found.upper_bound + 1e-12).all()
    assert (found.upper_bound <= farthest_anywhere(weights, mask) + 1e-12).all()
    assert torch.equal(found.certified, found.upper_bound - found.jsd <= 1e-12)
    for row in range(4):
        moved = change(weights[row], found.weights[row], says[row])
        assert found.change[row].item() == pytest.approx(moved.item(), abs=1e-10)
        assert moved <= epsilon + 1e-9
        points = edges(mask[row], 301)
        kept = points[change(weights[row], points, says[row]) <= epsilon]
        if len(kept):
            assert jensen_shannon(kept, weights[row]).max() <= found.jsd[row] + 1e-9


@given(st.integers(0, 10_000), st.integers(3, 4), st.integers(3, 5), EPSILONS)
def test_no_point_at_all_is_above_the_bound(
    seed: int, items: int, classes: int, epsilon: float
) -> None:
    weights, says, mask = several(seed, items, classes, zeros=seed % 2 == 0)
    found = most_divergent(weights, says, mask, epsilon)
    points = grid(items, {3: 60, 4: 24}[items])
    for row in range(4):
        there = points[(points[:, ~mask[row]] == 0).all(-1)]
        kept = there[change(weights[row], there, says[row]) <= epsilon]
        if len(kept):
            assert jensen_shannon(kept, weights[row]).max() <= found.upper_bound[row] + 1e-12


@given(st.integers(0, 10_000), st.integers(2, 8), st.booleans())
def test_more_freedom_never_brings_it_nearer_and_blocks_change_nothing(
    seed: int, items: int, zeros: bool
) -> None:
    weights, says, mask = several(seed, items, 4, zeros=zeros)
    last = torch.zeros(4, dtype=torch.float64)
    for epsilon in (0.0, 0.01, 0.05, 0.2, 0.6, 1.0):
        found = most_divergent(weights, says, mask, epsilon)
        assert (found.jsd >= last - 1e-9).all()
        last = found.jsd
        pieces = most_divergent(weights, says, mask, epsilon, max_pairs=1)
        assert torch.allclose(pieces.jsd, found.jsd, atol=1e-12)
    assert torch.allclose(found.jsd, farthest_anywhere(weights, mask))
    assert found.certified.all()


@given(st.integers(0, 10_000), EPSILONS)
def test_a_class_nobody_thinks_of_leaves_two(seed: int, epsilon: float) -> None:
    """With a third class at −60 the answer is that of the first two, and all but certified.

    Two bounds, one a face each, and not the slab between: the smaller is the answer.
    """
    weights, z, mask = rows(seed, 6, batch=4)
    nothing = torch.zeros_like(z)
    two = most_divergent(weights, torch.cat([nothing, z], dim=-1), mask, epsilon)
    three = torch.cat([nothing, z, nothing - 60], dim=-1)
    found = most_divergent(weights, three, mask, epsilon)
    assert torch.allclose(found.jsd, two.jsd, atol=1e-8)
    assert (found.upper_bound >= two.jsd - 1e-8).all()


def hill(peak: float, start: float, end: float) -> tuple[Tensor, Tensor, Tensor]:
    """Two items of opposite rivals, and a third, with all the weight, whose log-odds are 0.

    On the edge between the first two the rivals balance half-way, so that the log-odds of the class
    decided for go from `start` over a hill to `end`.
    """
    says = torch.tensor(
        [[[start, 0.0, -40.0], [end, -40.0, 0.0], [math.log(2), 0.0, 0.0]]], dtype=torch.float64
    )
    says[0, :2, 0] += peak
    weights = torch.tensor([[0.02, 0.01, 0.97]], dtype=torch.float64)
    return weights, says, torch.ones(1, 3, dtype=torch.bool)


def test_an_edge_that_keeps_the_prediction_on_two_intervals() -> None:
    """From far below through the slab, over it, and back through it: four ends, two intervals.

    The log-odds at t are a − ln(e^{−40 t} + e^{−40 (1 − t)}): a + 40 · min(t, 1 − t) away from the
    middle. With a = −6 they lie in ±logit(½ + ε) near t = 0.15 and t = 0.85, and the farthest
    of the four ends is the outermost, on the item of less weight.
    """
    weights, says, mask = hill(-6.0, 0.0, 0.0)
    own = (weights[0] @ says[0]).softmax(-1)
    decided = int(own.argmax())
    t = torch.linspace(0, 1, 200_001, dtype=torch.float64)
    points = torch.stack([t, 1 - t, torch.zeros_like(t)], dim=-1)
    epsilon = 0.1
    kept = ((points @ says[0]).softmax(-1)[:, decided] - own[decided]).abs() <= epsilon
    borders = int((kept[1:] != kept[:-1]).sum())
    assert borders == 4
    assert not kept[0]
    assert not kept[-1]
    best = jensen_shannon(points[kept], weights).max()
    found = most_divergent(weights, says, mask, epsilon)
    assert found.jsd.item() == pytest.approx(best.item(), abs=1e-5)
    assert found.jsd.item() >= best.item() - 1e-12
    assert found.weights[0, 2] == 0


def test_where_no_item_and_no_edge_keeps_the_prediction_the_own_weights_are_left() -> None:
    """Three rivals, one to each item: only a mixture of all three says what α says."""
    says = torch.full((1, 3, 4), -30.0, dtype=torch.float64)
    says[..., 0] = 0.0
    for item in range(3):
        says[0, item, 1 + item] = 60.0
    weights = torch.full((1, 3), 1 / 3, dtype=torch.float64)
    mask = torch.ones(1, 3, dtype=torch.bool)
    found = most_divergent(weights, says, mask, 0.01)
    assert found.jsd.item() == 0.0
    assert torch.allclose(found.weights, weights)
    assert not found.certified.item()
    assert found.upper_bound.item() > 0


def test_one_item_is_itself() -> None:
    mask = torch.tensor([[False, True]])
    found = most_divergent(mask.double(), torch.randn(1, 2, 3).double(), mask, 0.05)
    assert found.jsd.item() == 0.0
    assert found.certified.item()
