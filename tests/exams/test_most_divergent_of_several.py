"""More than two classes: the best edge point below, half-spaces above, certified if they meet."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp, rel_entr
from simplex_points import grid, rows
from torch import Tensor

from support.internals import MEETINGS, SearchOptions, meetings, search
from support.internals import several as module
from verax.functional import farthest_anywhere, jensen_shannon, most_divergent

EACH = [0.0, 0.01, 0.05, 0.2, 0.6, 1.0]
EPSILONS = st.sampled_from(EACH)
BATCH = 12
"""Documents of an example: many at once cost little more than one."""
few = settings(max_examples=35)


def several(
    seed: int, items: int, classes: int, scale: float = 3.0, zeros: bool = False, batch: int = 4
) -> tuple[Tensor, Tensor, Tensor]:
    weights, _, mask = rows(seed, items, batch=batch, zeros=zeros)
    random = torch.Generator().manual_seed(seed + 1)
    says = scale * torch.randn(batch, items, classes, generator=random, dtype=torch.float64)
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


@pytest.mark.slow
@given(
    st.integers(0, 10_000), st.integers(2, 6), st.integers(3, 5), EPSILONS, st.sampled_from([1, 8])
)
@few
def test_no_edge_point_is_farther_and_the_answer_is_what_it_says(
    seed: int, items: int, classes: int, epsilon: float, scale: float
) -> None:
    weights, says, mask = several(seed, items, classes, scale, zeros=seed % 2 == 0, batch=BATCH)
    found = most_divergent(weights, says, mask, epsilon)
    assert torch.allclose(found.jsd, jensen_shannon(found.weights, weights), atol=1e-12)
    assert (found.weights[~mask] == 0).all()
    assert torch.allclose(found.weights.sum(-1), torch.ones(BATCH, dtype=torch.float64))
    assert (found.jsd <= found.upper_bound + 1e-12).all()
    assert (found.upper_bound <= farthest_anywhere(weights, mask) + 1e-12).all()
    assert torch.equal(found.certified, found.upper_bound - found.jsd <= 1e-12)
    for row in range(BATCH):
        moved = change(weights[row], found.weights[row], says[row])
        assert found.change[row].item() == pytest.approx(moved.item(), abs=1e-10)
        assert moved <= epsilon + 1e-9
        points = edges(mask[row], 151)
        kept = points[change(weights[row], points, says[row]) <= epsilon]
        if len(kept):
            assert jensen_shannon(kept, weights[row]).max() <= found.jsd[row] + 1e-9


@pytest.mark.slow
@given(st.integers(0, 10_000), st.integers(3, 4), st.integers(3, 5), EPSILONS)
@few
def test_no_point_at_all_is_above_the_bound(
    seed: int, items: int, classes: int, epsilon: float
) -> None:
    weights, says, mask = several(seed, items, classes, zeros=seed % 2 == 0, batch=BATCH)
    found = most_divergent(weights, says, mask, epsilon)
    points = grid(items, {3: 40, 4: 16}[items])
    for row in range(BATCH):
        there = points[(points[:, ~mask[row]] == 0).all(-1)]
        kept = there[change(weights[row], there, says[row]) <= epsilon]
        if len(kept):
            assert jensen_shannon(kept, weights[row]).max() <= found.upper_bound[row] + 1e-12


@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("items", range(2, 9))
def test_more_freedom_never_brings_it_nearer_and_blocks_change_nothing(
    items: int, zeros: bool
) -> None:
    """Every number of items; each epsilon is tried in blocks with some of them."""
    weights, says, mask = several(items, items, 4, zeros=zeros, batch=BATCH)
    in_blocks = EACH[(items + 3 * zeros) % len(EACH)]
    last = torch.zeros(BATCH, dtype=torch.float64)
    for epsilon in EACH:
        found = most_divergent(weights, says, mask, epsilon)
        assert (found.jsd >= last - 1e-9).all()
        last = found.jsd
        if epsilon == in_blocks:  # the slow way, one edge at a time
            pieces = most_divergent(weights[:3], says[:3], mask[:3], epsilon, max_pairs=1)
            assert torch.allclose(pieces.jsd, found.jsd[:3], atol=1e-12)
    assert torch.allclose(found.jsd, farthest_anywhere(weights, mask))
    assert found.certified.all()


@pytest.mark.slow
@given(st.integers(0, 10_000), EPSILONS)
@few
def test_a_class_nobody_thinks_of_leaves_two(seed: int, epsilon: float) -> None:
    """With a third class at −60 the answer is that of the first two, and all but certified.

    Two bounds, one a face each, and not the slab between: the smaller is the answer.
    """
    weights, z, mask = rows(seed, 6, batch=BATCH)
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


def under(top: float) -> tuple[Tensor, Tensor, Tensor, float]:
    """A hill whose summit lies so far above the lower face of ε = 0.1 (or below, if negative)."""
    weights, says, mask = hill(-6.0, 0.0, 0.0)
    for _ in range(30):  # moving the hill moves the prediction, a little
        own = (weights[0] @ says[0]).softmax(-1)
        low = torch.logit(own.amax() - 0.1)
        summit = says[0, :2, 0].mean() + 20 - math.log(2)
        says[0, :2, 0] += low + top - summit
    return weights, says, mask, 0.1


def test_a_summit_just_below_the_face_is_no_meeting() -> None:
    weights, says, mask, epsilon = under(-1e-6)
    found = most_divergent(weights, says, mask, epsilon)
    assert found.change.item() <= epsilon + 1e-9
    assert found.weights[0, 2] > 0


def test_a_summit_just_above_the_face_is_met() -> None:
    """Newton's steps come nearer by half where they nearly touch, and still arrive."""
    weights, says, mask, epsilon = under(1e-9)
    found = most_divergent(weights, says, mask, epsilon)
    assert found.change.item() <= epsilon + 1e-9
    assert found.weights[0].tolist() == pytest.approx([0.5, 0.5, 0.0], abs=1e-4)


@pytest.mark.parametrize("scale", [1.0, 1e3, 1e6])
def test_meetings_are_found_whatever_the_logits(scale: float) -> None:
    """Two opposed items of little weight, some mixture of which says what α says."""
    says = torch.tensor([[0, 0, 0], [1.1, 0.3, -0.5], [-1.3, 0.1, 0.7]]).double() * scale
    says[0] = torch.tensor([0.7, 0.0, -0.3]).double() - (says[1] + says[2]) * 0.01 / 0.98
    weights = torch.tensor([[0.98, 0.01, 0.01]]).double()
    found = most_divergent(weights, says.unsqueeze(0), torch.ones(1, 3).bool(), 0.05)
    assert found.jsd.item() > 0.6


def half_space(own: np.ndarray, z: np.ndarray, face: float, above: bool) -> float:
    """The farthest vertex or crossing of simplex ∩ half-space, one by one."""

    def jsd(p: np.ndarray) -> float:
        middle = (p + own) / 2
        return float((rel_entr(p, middle) + rel_entr(own, middle)).sum() / 2)

    alone = np.eye(len(own))
    found = [jsd(alone[i]) for i in range(len(own)) if (z[i] >= face) == above or z[i] == face]
    for i, j in itertools.product(range(len(own)), repeat=2):
        if z[i] < face < z[j]:
            t = (z[j] - face) / (z[j] - z[i])
            found.append(jsd(t * alone[i] + (1 - t) * alone[j]))
    return max(found)


def test_the_bound_is_the_least_of_all_half_spaces() -> None:
    tighter = 0
    for seed in range(12):
        weights, says, mask = several(seed, 5, 3 + seed % 3)
        epsilon = (0.01, 0.1)[seed % 2]
        found = most_divergent(weights, says, mask, epsilon)
        for row in range(4):
            own, said = weights[row][mask[row]].numpy(), says[row][mask[row]].numpy()
            logits = own @ said
            y, p = logits.argmax(), np.exp(logits - logsumexp(logits)).max()
            free = half_space(own, 0 * said[:, y], 0.0, True)
            bounds = [free]
            if p + epsilon < 1:
                odds = said[:, y] - logsumexp(np.delete(said, y, 1), axis=1)
                high = np.log((p + epsilon) / (1 - p - epsilon))
                bounds.append(half_space(own, odds, high, False))
            if p > epsilon:
                low = np.log((p - epsilon) / (1 - p + epsilon))
                rivals = [c for c in range(said.shape[1]) if c != y]
                bounds += [half_space(own, said[:, y] - said[:, c], low, True) for c in rivals]
            least = max(min(bounds), found.jsd[row].item())
            assert found.upper_bound[row].item() == pytest.approx(least, abs=1e-9)
            tighter += min(bounds) < free - 1e-6
    assert tighter > 5


def test_bounds_that_all_but_meet_certify_nothing() -> None:
    seen = 0
    for seed in range(20):
        weights, z, mask = rows(seed, 6, batch=4)
        three = torch.cat([0 * z, z, 0 * z - 18], dim=-1)
        found = most_divergent(weights, three, mask, 0.05)
        gap = found.upper_bound - found.jsd
        close = (gap > 1e-12) & (gap < 1e-6)
        assert not found.certified[close].any()
        seen += int(close.sum())
    assert seen > 0


@pytest.mark.slow
@pytest.mark.parametrize("items", [5, 12])
@pytest.mark.parametrize("classes", [3, 5])
def test_no_random_point_and_no_search_is_above_the_bound(items: int, classes: int) -> None:
    weights, says, mask = several(items, items, classes, zeros=classes == 3)
    random = np.random.default_rng(items)
    many = SearchOptions(restarts=30, steps=150)
    searched = search(weights, says, mask, options=many)
    for epsilon in (0.01, 0.1, 0.4):
        found = most_divergent(weights, says, mask, epsilon)
        assert (searched.best(epsilon).jsd <= found.upper_bound + 1e-12).all()
        for row in range(4):
            spread = [0.02, 0.1, 0.5]
            points = [random.dirichlet(np.full(items, a), size=1_500) for a in spread]
            others = torch.from_numpy(np.concatenate(points)) * mask[row]
            others = others[others.sum(-1) > 1e-9]
            others = others / others.sum(-1, keepdim=True)
            # on the way to each of them, too
            part = torch.from_numpy(random.uniform(size=(len(others), 1)))
            others = torch.cat([others, weights[row] + part * (others - weights[row])])
            kept = others[change(weights[row], others, says[row]) <= epsilon]
            assert len(kept) > 100
            assert jensen_shannon(kept, weights[row]).max() <= found.upper_bound[row] + 1e-12


@pytest.mark.slow
@given(st.integers(0, 10_000), EPSILONS)
@few
def test_the_order_of_items_and_rivals_changes_nothing(seed: int, epsilon: float) -> None:
    weights, says, mask = several(seed, 6, 4, batch=BATCH)
    found = most_divergent(weights, says, mask, epsilon)
    random = torch.Generator().manual_seed(seed)
    order, classes = (torch.randperm(n, generator=random) for n in (6, 4))
    moved = most_divergent(weights[:, order], says[:, order][..., classes], mask[:, order], epsilon)
    assert torch.allclose(moved.jsd, found.jsd, atol=1e-9)
    assert torch.allclose(moved.upper_bound, found.upper_bound, atol=1e-9)


def test_no_more_edges_are_followed_at_once_than_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes, plain = [], meetings

    def spy(*given: Any) -> module.Point:
        sizes.append(len(given[-1]))
        return plain(*given)

    monkeypatch.setattr(MEETINGS, spy)
    weights, says, mask = several(3, 20, 3)
    most_divergent(weights, says, mask, 0.01, max_pairs=20 * 3 * 4)
    assert sizes
    assert max(sizes) <= 4


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
