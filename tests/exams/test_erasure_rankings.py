"""Rankings, first flips and single erasures, against erasing step by step and against autograd."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import jensenshannon

from verax.errors import VeraxError
from verax.exams.erasure import erase, first_flips, jensen_shannon, minimal_flip_sets
from verax.exams.erasure.single_weight import erase_each, random_item, top_item
from verax.exams.erasure.states import AffineStates, ranks_from_below
from verax.exams.erasure.through_head import HeadStates
from verax.importance import weight_gradient
from verax.models.head import probabilities


def batch(
    seed: int, rows: int = 8, width: int = 9, classes: int = 4, zeros: bool = False
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """weights, item logits, bias, mask; each row has at least one item."""
    random = np.random.default_rng(seed)
    mask = random.random((rows, width)) < 0.7
    mask[:, random.integers(width)] = True
    weights = random.random((rows, width)) ** 3 * mask
    if zeros:
        weights[random.random((rows, width)) < 0.4] = 0
        weights[weights.sum(1) == 0] = mask[weights.sum(1) == 0]
    weights /= weights.sum(1, keepdims=True)
    says = random.normal(size=(rows, width, classes)) + random.normal(size=classes)
    return (
        torch.tensor(weights),
        torch.tensor(says),
        torch.tensor(random.normal(size=classes)),
        torch.tensor(mask),
    )


def flip_step_by_step(
    weights: torch.Tensor,
    says: torch.Tensor,
    bias: torch.Tensor | None,
    mask: torch.Tensor,
    importance: torch.Tensor,
) -> tuple[int, float]:
    """One row, one item after another, the head applied to renormalised weights each time."""
    items = sorted(torch.nonzero(mask).flatten().tolist(), key=lambda i: (-importance[i], i))

    def decided(left: list[int]) -> int | None:
        total = sum(weights[i].item() for i in left)
        if total == 0:
            logits = bias
        else:
            logits = torch.stack([says[i] * weights[i] / total for i in left]).sum(0)
        if logits is None:
            return None
        if len(logits) == 1:
            return int(logits[0] > 0)
        return int(logits.argmax())

    first = decided(items)
    for count in range(1, len(items) + 1):
        now = decided(items[count:])
        if now is not None and now != first:
            return count, sum(weights[i].item() for i in items[:count])
    return -1, math.nan


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
        with pytest.raises(VeraxError, match=f"{name} is torch"):
            erase(*arguments)


def test_jensen_shannon_against_scipy_and_at_its_ends() -> None:
    random = np.random.default_rng(0)
    p, q = random.dirichlet(np.ones(5), size=50), random.dirichlet(np.ones(5), size=50)
    expected = [jensenshannon(a, b) ** 2 for a, b in zip(p, q, strict=True)]
    assert np.allclose(jensen_shannon(torch.tensor(p), torch.tensor(q)), expected, atol=1e-15)
    ends = torch.eye(2, dtype=torch.float64)
    assert jensen_shannon(ends[0], ends[1]).item() == pytest.approx(math.log(2), abs=1e-15)
    assert jensen_shannon(ends[0], ends[0]).item() == 0.0


@pytest.mark.parametrize("small", [1e-5, 1e-12, 1e-16, 1e-17, 1e-40, 1e-300, 0.0])
def test_jensen_shannon_of_a_class_next_to_nothing(small: float) -> None:
    """As p₂ goes to 0, JS((1 − p₂, p₂), (½, ½)) goes to ½ ln(4/3) + ¼ ln(2/3) + ¼ ln 2."""
    p = torch.tensor([1 - small, small], dtype=torch.float64)
    q = torch.tensor([0.5, 0.5], dtype=torch.float64)
    limit = math.log(4 / 3) / 2 + math.log(2 / 3) / 4 + math.log(2) / 4
    for found in (jensen_shannon(p, q), jensen_shannon(q, p)):
        assert found.item() == pytest.approx(limit, abs=1e-3 if small > 1e-6 else 1e-10)
    single = jensen_shannon(p.float(), q.float()).item()
    assert single == pytest.approx(limit, abs=1e-3)


def test_jensen_shannon_keeps_the_digits_of_small_changes() -> None:
    """For p = (½ + d, ½ − d) against ½, ½ it is d²/2 + O(d⁴)."""
    for d in (1e-3, 1e-5, 1e-7):
        p = torch.tensor([0.5 + d, 0.5 - d], dtype=torch.float64)
        q = torch.tensor([0.5, 0.5], dtype=torch.float64)
        assert jensen_shannon(p, q).item() == pytest.approx(d * d / 2, rel=1e-5)


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


# heads that are not affine


@given(st.integers(0, 10_000), st.integers(1, 4), st.booleans())
def test_through_an_affine_head_the_general_path_says_the_same(
    seed: int, classes: int, zeros: bool
) -> None:
    weights, _, _, mask = batch(seed, zeros=zeros)
    random = torch.Generator().manual_seed(seed)
    items = torch.randn(*weights.shape, 5, generator=random).double()
    matrix = torch.randn(classes, 5, generator=random).double()
    bias = torch.randn(classes, generator=random).double()
    exact = AffineStates(weights, items @ matrix.T + bias, mask, bias)
    general = HeadStates(weights, items, mask, lambda x: x @ matrix.T + bias)
    assert torch.equal(exact.decision, general.decision)
    orders = ranks_from_below(torch.stack([weights, -weights, items[..., 0]]), mask)
    here, there = exact.first_flips(orders), general.first_flips(orders)
    assert torch.equal(here.size, there.size)
    assert torch.allclose(here.mass, there.mass, equal_nan=True)
    removed = torch.rand(*weights.shape, generator=random).unsqueeze(1) < 0.5
    assert torch.allclose(exact.after(removed), general.after(removed), atol=1e-9)
    least, found = exact.minimal(), general.minimal(orders)
    assert least.certified
    assert not found.certified
    assert torch.equal(least.size > 0, found.size > 0) or bool(
        (found.size[least.size < 0] < 0).all()
    )
    both = (least.size > 0) & (found.size > 0)
    assert (found.size[both] >= least.size[both]).all()


@given(st.integers(0, 10_000))
def test_a_searched_set_flips_the_decision_and_beats_every_ranking(seed: int) -> None:
    weights, _, _, mask = batch(seed)
    random = torch.Generator().manual_seed(seed)
    items = torch.randn(*weights.shape, 5, generator=random)
    first, second = (torch.randn(*s, generator=random) for s in ((5, 7), (7, 3)))

    def head(context: torch.Tensor) -> torch.Tensor:
        return torch.tanh(context @ first) @ second + 0.1

    states = HeadStates(weights, items, mask, head)
    orders = ranks_from_below(torch.stack([weights, -weights, items[..., 0].double()]), mask)
    found = states.minimal(orders)
    for size in states.first_flips(orders).size:
        assert ((size < 0) | ((found.size > 0) & (found.size <= size))).all()
    flips = found.size > 0
    after = states.after(found.members.unsqueeze(1)).squeeze(1).argmax(-1)
    assert torch.equal(found.members.sum(-1), found.size.clamp(min=0))
    assert not (found.members & ~mask).any()
    assert (after[flips] != states.decision[flips]).all()
    assert torch.equal(after[flips], found.rival[flips])


def test_exchanges_find_what_greed_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """On 600 documents of up to 30 items and a curved head, a few sets come out smaller."""

    def total() -> int:
        sizes = 0
        for seed in range(15):
            weights, _, _, mask = batch(seed, rows=40, width=30)
            random = torch.Generator().manual_seed(seed)
            items = torch.randn(*weights.shape, 5, generator=random).double()
            torch.randn(3, 5, generator=random)
            first, second = (torch.randn(*s, generator=random).double() for s in ((9, 5), (3, 9)))

            def head(
                x: torch.Tensor, first: torch.Tensor = first, second: torch.Tensor = second
            ) -> torch.Tensor:
                return torch.tanh(3 * x @ first.T) @ second.T

            sizes += int(HeadStates(weights, items, mask, head).minimal().size.clamp(min=0).sum())
        return sizes

    with_exchanges = total()
    monkeypatch.setattr("verax.exams.erasure.through_head._EXCHANGES", 0)
    assert total() > with_exchanges


@given(st.integers(0, 10_000), st.booleans())
def test_no_member_of_a_searched_set_is_idle(seed: int, zeros: bool) -> None:
    weights, _, _, mask = batch(seed, zeros=zeros)
    random = torch.Generator().manual_seed(seed)
    items = torch.randn(*weights.shape, 5, generator=random).double()
    matrix = torch.randn(3, 5, generator=random).double()
    states = HeadStates(weights, items, mask, lambda x: x @ matrix.T)
    found = states.minimal()
    for row, item in torch.nonzero(found.members & (found.size > 1).unsqueeze(-1)).tolist():
        fewer = found.members.clone()
        fewer[row, item] = False
        after = states.after(fewer.unsqueeze(1))[row, 0].argmax()
        assert after == states.decision[row]


def test_the_search_is_close_to_the_truth() -> None:
    """Through an affine head, where the truth is known: found is the minimum nearly always."""
    same = total = 0
    for seed in range(20):
        weights, _, _, mask = batch(seed, rows=20, width=14)
        random = torch.Generator().manual_seed(seed)
        items = torch.randn(*weights.shape, 5, generator=random).double()
        matrix = torch.randn(3, 5, generator=random).double()
        exact = AffineStates(weights, items @ matrix.T, mask, torch.zeros(3)).minimal()
        found = HeadStates(weights, items, mask, lambda x, m=matrix: x @ m.T).minimal()
        flips = exact.size > 0
        same += int((exact.size[flips] == found.size[flips]).sum())
        total += int(flips.sum())
    assert same / total > 0.95
