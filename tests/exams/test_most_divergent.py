"""The most divergent attention of two classes: nothing that keeps the prediction is farther."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import rel_entr
from simplex_points import grid, rows
from torch import Tensor

from support.errors import raises
from support.internals import FARTHEST_FEW, FARTHEST_SHORT
from verax.functional import Adversary, farthest_anywhere, jensen_shannon, most_divergent

LN2 = math.log(2)
EACH = [0.0, 1e-6, 0.01, 0.05, 0.1, 0.3, 0.7, 1.0]
EPSILONS = st.sampled_from(EACH)


def change(own: Tensor, others: Tensor, z: Tensor) -> Tensor:
    """|Δp|, written out; the same for either class."""
    return (torch.sigmoid(others @ z) - torch.sigmoid(own @ z)).abs()


def check_sound(found: Adversary, weights: Tensor, z: Tensor, mask: Tensor, epsilon: float) -> None:
    """What is claimed of the answer is true of it, and SciPy says so."""
    assert (found.weights >= 0).all()
    assert (found.weights[~mask] == 0).all()
    assert torch.allclose(found.weights.sum(-1), torch.ones(len(z), dtype=torch.float64))
    assert ((found.weights > 0).sum(-1) <= 2).all()
    p, q = found.weights.numpy(), weights.numpy()
    expected = (rel_entr(p, (p + q) / 2) + rel_entr(q, (p + q) / 2)).sum(-1) / 2
    assert np.allclose(found.jsd, expected, atol=1e-12)
    for row in range(len(z)):
        moved = change(weights[row], found.weights[row], z[row, :, 0])
        assert found.change[row].item() == pytest.approx(moved.item(), abs=1e-12)
        assert moved <= epsilon + 1e-12
        before, after = weights[row] @ z[row, :, 0], found.weights[row] @ z[row, :, 0]
        assert found.decision_kept[row] == ((before > 0) == (after > 0))
    assert found.certified.all()
    assert torch.equal(found.upper_bound, found.jsd)
    assert (found.jsd <= farthest_anywhere(weights, mask) + 1e-12).all()


@pytest.mark.slow
@given(st.integers(0, 10_000), st.integers(1, 4), EPSILONS, st.booleans())
def test_no_point_of_a_fine_grid_is_farther(
    seed: int, items: int, epsilon: float, zeros: bool
) -> None:
    weights, z, mask = rows(seed, items, zeros=zeros)
    found = most_divergent(weights, z, mask, epsilon)
    check_sound(found, weights, z, mask, epsilon)
    points = grid(items, {1: 1, 2: 400, 3: 60, 4: 24}[items])
    for row in range(len(z)):
        there = points[(points[:, ~mask[row]] == 0).all(-1)]
        kept = there[change(weights[row], there, z[row, :, 0]) <= epsilon]
        if len(kept):
            assert jensen_shannon(kept, weights[row]).max() <= found.jsd[row] + 1e-12


@pytest.mark.parametrize("items", [2, 5, 8, 12])
@pytest.mark.parametrize("epsilon", [0.01, 0.1, 0.5])
def test_no_random_point_is_farther(items: int, epsilon: float) -> None:
    """Thousands a row, each pushed away from α as far as the prediction allows.

    Along α + u (α' − α) the log-odds move straight from z to z', so that the last u that keeps the
    prediction is where they meet a face, or 1.
    """
    weights, z, mask = rows(items, items, batch=4, zeros=items % 2 == 0)
    found = most_divergent(weights, z, mask, epsilon)
    random = np.random.default_rng(items)
    for row in range(len(z)):
        spread = [0.02, 0.1, 0.5, 1.0]
        points = np.concatenate([random.dirichlet(np.full(items, a), size=2_000) for a in spread])
        others = torch.from_numpy(points) * mask[row]
        others = others[others.sum(-1) > 1e-9]
        others = others / others.sum(-1, keepdim=True)
        here, there = weights[row] @ z[row, :, 0], others @ z[row, :, 0]
        p = torch.sigmoid(here)
        low = torch.logit(p - epsilon) if p > epsilon else torch.tensor(-torch.inf)
        high = torch.logit(p + epsilon) if p + epsilon < 1 else torch.tensor(torch.inf)
        reach = torch.where(there > here, (high - here) / (there - here), 1.0)
        reach = torch.where(there < here, (low - here) / (there - here), reach)
        pushed = weights[row] + reach.clamp(max=1).unsqueeze(-1) * (others - weights[row])
        kept = pushed[change(weights[row], pushed, z[row, :, 0]) <= epsilon + 1e-12]
        assert len(kept) > 4_000
        assert jensen_shannon(kept, weights[row]).max() <= found.jsd[row] + 1e-11


@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("epsilon", EACH)
@pytest.mark.parametrize("seed", [1, 2])
def test_order_padding_and_blocks_change_nothing(seed: int, epsilon: float, zeros: bool) -> None:
    """Five rows with gaps of their own for each."""
    weights, z, mask = rows(seed, 9, zeros=zeros)
    found = most_divergent(weights, z, mask, epsilon)
    order = torch.randperm(9, generator=torch.Generator().manual_seed(seed))
    moved = most_divergent(weights[:, order], z[:, order], mask[:, order], epsilon)
    assert torch.allclose(moved.jsd, found.jsd, atol=1e-12)
    pad = torch.nn.functional.pad
    noise = pad(z, (0, 0, 0, 3), value=7.0)
    wider = most_divergent(pad(weights, (0, 3)), noise, pad(mask, (0, 3)), epsilon)
    assert torch.allclose(wider.jsd, found.jsd, atol=1e-14)
    for pairs in (1, 7):
        pieces = most_divergent(weights, z, mask, epsilon, max_pairs=pairs)
        assert torch.allclose(pieces.jsd, found.jsd, atol=1e-14)
    for row in range(len(z)):
        one = slice(row, row + 1)
        alone = most_divergent(weights[one], z[one], mask[one], epsilon)
        assert torch.allclose(alone.jsd, found.jsd[one], atol=1e-14)


@pytest.mark.slow
@pytest.mark.parametrize("few", [0.0, 1.0])
@given(seed=st.integers(0, 10_000), epsilon=EPSILONS, zeros=st.booleans())
def test_looking_at_promising_edges_alone_finds_the_same(
    few: float, seed: int, epsilon: float, zeros: bool
) -> None:
    """As long documents do: 1 takes up to all of them as promising, 0 none."""
    weights, z, mask = rows(seed, 9, zeros=zeros)
    found = most_divergent(weights, z, mask, epsilon)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FARTHEST_SHORT, 0)
        patch.setattr(FARTHEST_FEW, few)
        promising = most_divergent(weights, z, mask, epsilon)
    assert torch.allclose(promising.jsd, found.jsd, atol=1e-14)
    check_sound(promising, weights, z, mask, epsilon)


@pytest.mark.parametrize("sharp", [0.05, 1.0, 4.0])
def test_a_long_document_against_every_pair(sharp: float) -> None:
    """All pairs of 150 items, in NumPy: the crossing of each edge with each face."""
    random = np.random.default_rng(0)
    scores = sharp * random.normal(size=150)
    own = np.exp(scores) / np.exp(scores).sum()
    z = random.normal(size=150)
    p = 1 / (1 + np.exp(-own @ z))
    best = 0.0
    for face in (np.log((p - 0.05) / (1.05 - p)), np.log((p + 0.05) / (0.95 - p))):
        i, j = np.nonzero((z[:, None] < face) & (z[None, :] > face))
        t = (z[j] - face) / (z[j] - z[i])
        points = np.zeros((len(i), 150))
        points[np.arange(len(i)), i] = t
        points[np.arange(len(i)), j] = 1 - t
        middle = (points + own) / 2
        best = max(best, (rel_entr(points, middle) + rel_entr(own, middle)).sum(-1).max() / 2)
    moved = np.abs(1 / (1 + np.exp(-z)) - p)
    alone = np.eye(150)[moved <= 0.05]
    middle = (alone + own) / 2
    best = max(best, (rel_entr(alone, middle) + rel_entr(own, middle)).sum(-1).max() / 2)
    told = torch.from_numpy(own)[None], torch.from_numpy(z)[None, :, None]
    found = most_divergent(*told, torch.ones(1, 150, dtype=torch.bool), 0.05)
    assert found.jsd.item() == pytest.approx(best, abs=1e-12)


@pytest.mark.slow
@given(st.integers(0, 10_000), st.integers(2, 9), st.booleans())
def test_more_freedom_never_brings_it_nearer(seed: int, items: int, zeros: bool) -> None:
    weights, z, mask = rows(seed, items, zeros=zeros)
    found = [
        most_divergent(weights, z, mask, e).jsd for e in (0.0, 1e-9, 0.01, 0.05, 0.2, 0.6, 1.0)
    ]
    for less, more in itertools.pairwise(found):
        assert (more >= less - 1e-12).all()
    assert torch.allclose(found[-1], farthest_anywhere(weights, mask))


@pytest.mark.slow
@given(st.integers(0, 10_000), EPSILONS)
def test_two_logits_are_their_difference(seed: int, epsilon: float) -> None:
    weights, z, mask = rows(seed, 6)
    first = torch.randn(z.shape, generator=torch.Generator().manual_seed(seed)).double()
    one = most_divergent(weights, z, mask, epsilon)
    two = most_divergent(weights, torch.cat([first, first + z], dim=-1), mask, epsilon)
    assert torch.allclose(two.jsd, one.jsd, atol=1e-10)
    assert torch.equal(two.decision_kept, one.decision_kept)
    assert two.logits.shape[-1] == 2
    assert torch.allclose(two.logits[:, 1] - two.logits[:, 0], one.logits[:, 0], atol=1e-9)


@pytest.mark.slow
@given(st.integers(0, 10_000), st.floats(0.0, 1.0))
def test_an_unattended_item_that_says_the_same_is_as_far_as_can_be(
    seed: int, epsilon: float
) -> None:
    weights, z, mask = rows(seed, 7)
    weights[:, 3] = 0
    mask[:, 3] = True
    mask[:, 2] = True
    weights[:, 2] += 0.1
    weights = weights / weights.sum(-1, keepdim=True)
    z[:, 3, 0] = (weights * z[..., 0]).sum(-1)
    found = most_divergent(weights, z, mask, epsilon)
    assert torch.allclose(found.jsd, torch.tensor(LN2, dtype=torch.float64), atol=1e-14)


@pytest.mark.parametrize("level", [-800.0, -40.0, -20.0, 0.0, 20.0, 40.0, 800.0])
@pytest.mark.parametrize("epsilon", [0.0, 1e-20, 1e-12, 0.01, 0.5])
def test_predictions_next_to_0_and_1(level: float, epsilon: float) -> None:
    """A face beyond 0 or 1 does not exist: from p = 1 everything above p − ε is allowed."""
    weights, z, mask = rows(3, 5, batch=40)
    z = z + level
    found = most_divergent(weights, z, mask, epsilon)
    assert found.jsd.isfinite().all()
    assert (found.change <= epsilon + 1e-12).all()
    check_sound(found, weights, z, mask, epsilon)
    points = grid(5, 10)
    for row in range(len(z)):
        there = points[(points[:, ~mask[row]] == 0).all(-1)]
        kept = there[change(weights[row], there, z[row, :, 0]) <= epsilon]
        if len(kept):
            assert jensen_shannon(kept, weights[row]).max() <= found.jsd[row] + 1e-12


def test_a_face_beyond_one_is_not_clamped() -> None:
    """p = σ(5) = 0.9933: with ε = 0.01 the item that says 50 is allowed, since p cannot pass 1."""
    weights = torch.tensor([[1.0, 0.0]], dtype=torch.float64)
    z = torch.tensor([[[5.0], [50.0]]], dtype=torch.float64)
    mask = torch.ones(1, 2, dtype=torch.bool)
    assert most_divergent(weights, z, mask, 0.01).weights.tolist() == [[0.0, 1.0]]
    found = most_divergent(weights, z, mask, 0.001)
    p = torch.sigmoid(torch.tensor(5.0, dtype=torch.float64)) + 0.001
    share = (torch.logit(p) - 5) / 45
    assert found.weights[0].tolist() == pytest.approx([1 - share.item(), share.item()])


def test_by_hand() -> None:
    """z = (0, ln 3, −ln 3) and all weight on the first: p = ½, and p' = ¾ on the second alone.

    With ε = ¼ both others are allowed, at ln 2. With ε = 0 the only crossing away from the first is
    half on each of the others, at ln 2 as well; without the third nothing but the first is left.
    """
    weights = torch.tensor([[1.0, 0.0, 0.0]], dtype=torch.float64)
    z = torch.tensor([0.0, math.log(3), -math.log(3)], dtype=torch.float64).view(1, 3, 1)
    mask = torch.ones(1, 3, dtype=torch.bool)
    wide = most_divergent(weights, z, mask, 0.25)
    assert wide.jsd.item() == pytest.approx(LN2)
    assert wide.change.item() == pytest.approx(0.25)
    narrow = most_divergent(weights, z, mask, 0.0)
    assert narrow.weights[0].tolist() == pytest.approx([0.0, 0.5, 0.5], abs=1e-12)
    assert narrow.jsd.item() == pytest.approx(LN2)
    mask[0, 2] = False
    nothing = most_divergent(weights, z, mask, 0.0)
    assert nothing.jsd.item() == pytest.approx(0.0, abs=1e-10)


def test_one_item_is_itself() -> None:
    mask = torch.tensor([[False, True, False]])
    weights, z = mask.float(), torch.randn(1, 3, 1)
    for epsilon in (0.0, 0.05, 1.0):
        found = most_divergent(weights, z, mask, epsilon)
        assert found.weights.tolist() == [[0.0, 1.0, 0.0]]
        assert (found.jsd.item(), found.change.item()) == (0.0, 0.0)
        assert found.certified.item()
        assert found.decision_kept.item()


def test_items_that_all_say_the_same_leave_the_least_attended() -> None:
    weights = torch.tensor([[0.5, 0.2, 0.3]])
    found = most_divergent(weights, torch.full((1, 3, 1), 0.7), torch.ones(1, 3).bool(), 0.0)
    assert found.weights.tolist() == [[0.0, 1.0, 0.0]]


def test_weights_in_single_precision_are_normalised() -> None:
    weights, z, mask = rows(0, 200)
    double = most_divergent(weights, z, mask, 0.05)
    single = most_divergent(weights.float(), z.float(), mask, 0.05)
    assert torch.allclose(single.jsd, double.jsd, atol=1e-5)
    assert torch.allclose(single.weights.sum(-1), torch.ones(len(z), dtype=torch.float64))


def test_what_does_not_fit_is_named() -> None:
    weights, z, mask = rows(0, 4)
    for code, name, arguments in (
        ("tensor.wrong-shape", "mask", (weights, z, mask.float(), 0.1)),
        ("tensor.wrong-shape", "item_logits", (weights, z[:, :3], mask, 0.1)),
        ("option.out-of-range", "epsilon", (weights, z, mask, 1.5)),
        ("tensor.bad-values", "weights", (weights, z, mask & False, 0.1)),
        ("tensor.bad-values", "item_logits", (weights, z / 0, mask, 0.1)),
        ("tensor.bad-values", "weights", (weights - 0.1, z, mask, 0.1)),
    ):
        with raises(code, name):
            most_divergent(*arguments)
    for epsilon in (math.nan, -0.1, "much"):
        with raises("option.*", "epsilon"):
            most_divergent(weights, z, mask, epsilon)  # type: ignore[arg-type]


@pytest.mark.parametrize("shape", [(1, 2, 0), (1, 0, 2), (0, 0, 0), (1, 2)])
def test_without_items_or_classes_there_is_nothing_to_keep(shape: tuple[int, ...]) -> None:
    weights = torch.full(shape[:2], 0.5)
    mask = torch.ones(shape[:2], dtype=torch.bool)
    with raises("tensor.wrong-shape", "item_logits"):
        most_divergent(weights, torch.zeros(shape), mask, 0.1)


def test_weights_of_no_items_are_refused_without_documents_too() -> None:
    nothing = torch.zeros(0, 0)
    with raises("tensor.wrong-shape", "weights"):
        farthest_anywhere(nothing, nothing.bool())
    assert farthest_anywhere(torch.zeros(0, 3), torch.zeros(0, 3).bool()).shape == (0,)
