"""Jain & Wallace's search: against autograd, document by document, and what must hold of it."""

from __future__ import annotations

import math
from dataclasses import fields, replace

import numpy as np
import pytest
import torch
from adversary_rows import rows
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from torch import Tensor
from torch.nn import functional

from pairwise import pairwise
from support.errors import raises
from support.internals import MOST_DIVERGENCE as MOST
from support.internals import Answer, SearchedAttentions, SearchOptions, search, search_through
from support.internals import start_of_search as start
from verax.functional import jensen_shannon, most_divergent
from verax.models import HashedDropout, decisions, probabilities

SHORT = SearchOptions(steps=12)
few = settings(max_examples=25)
seeds = st.integers(0, 2**31)


def affine(item_logits: Tensor, mask: Tensor) -> Answer:
    says = item_logits.masked_fill(~mask.unsqueeze(-1), 0.0)
    return lambda weights: torch.einsum("kbi,bic->kbc", weights, says)


def same(found: SearchedAttentions, other: SearchedAttentions, tolerance: float) -> None:
    for field in fields(SearchedAttentions):
        one, two = getattr(found, field.name), getattr(other, field.name)
        torch.testing.assert_close(one, two, rtol=0, atol=tolerance, msg=field.name)


def row(found: SearchedAttentions, index: int, width: int) -> SearchedAttentions:
    """One document of several, at another width."""
    by = width - found.own_weights.shape[-1]
    picked = {
        f.name: getattr(found, f.name)[..., index : index + 1, :]
        for f in fields(SearchedAttentions)[3:]
    }
    picked["weights"] = functional.pad(found.weights[:, index : index + 1], (0, by))
    picked["own_weights"] = functional.pad(picked["own_weights"], (0, by))
    picked |= {name: getattr(found, name)[:, index : index + 1] for name in ("jsd", "change")}
    return SearchedAttentions(**picked)


# -- against autograd


def plainly(own: Tensor, says: Tensor, log_weights: Tensor, options: SearchOptions) -> Tensor:
    """One document's search as the paper writes it: (items,), (items, classes), (restarts, items).

    Their JSD with 1e-10 inside its logarithms, the loss as it stands, torch's own Adam.
    """

    def divergence(p: Tensor, q: Tensor) -> Tensor:
        def kl(p: Tensor, q: Tensor) -> Tensor:
            return (p * ((p + 1e-10).log() - (q + 1e-10).log())).sum(-1)

        return (kl(p, (p + q) / 2) + kl(q, (p + q) / 2)) / 2

    before = probabilities(own @ says)
    decided = decisions(own @ says)
    sought = (log_weights - math.log(len(own))).requires_grad_()
    adam = torch.optim.Adam([sought], lr=options.lr, amsgrad=True, foreach=False)
    for _ in range(options.steps):
        adam.zero_grad()
        found = sought.softmax(-1)
        loss = torch.zeros((), dtype=own.dtype)
        for one in found:
            change = (probabilities(one @ says) - before)[decided].abs()
            loss = loss - divergence(one, own) + options.penalty * (change - options.margin).relu()
            loss = loss - divergence(one, found).sum() / options.restarts**2
        loss.backward()
        adam.step()
    return sought.detach().softmax(-1)


def agrees_with_the_plain_search(given: tuple[Tensor, ...], options: SearchOptions) -> None:
    """In weights, and where there is next to none also in their logarithms."""
    weights, says, mask, keys = given
    found = search(*given, seed=3, options=options)
    begun = start(keys, mask.shape[1], 3, options)
    for index, items in enumerate(mask):
        own, said = weights[index, items], says[index, items]
        expected = plainly(own, said, begun[:, index, items], options)
        ours = found.weights[:, index, items]
        torch.testing.assert_close(ours, expected, rtol=0, atol=1e-5)
        torch.testing.assert_close(ours.log(), expected.log(), rtol=0, atol=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("restarts", "classes", "zeros"), pairwise((1, 2, 4, 5), (1, 2, 3), (False, True))
)
def test_is_the_plain_search_of_each_document(classes: int, restarts: int, zeros: bool) -> None:
    """Every pair: restarts meet in their divergence, classes in the change, zeros in the start."""
    options = SearchOptions(restarts=restarts, steps=25, spread=4.0)
    agrees_with_the_plain_search(rows(restarts, classes, batch=4, items=9, zeros=zeros), options)


@pytest.mark.slow
@pytest.mark.parametrize("restarts", [6, 7])
def test_many_restarts_and_other_constants_too(restarts: int) -> None:
    """These are three rings, too many for one product."""
    options = SearchOptions(restarts, steps=12, lr=0.5, margin=0.2, penalty=0.7, spread=1.5)
    agrees_with_the_plain_search(rows(8, batch=4, items=9), options)


def test_long_steps_do_not_leave_the_numbers_there_are() -> None:
    found = search(*rows(1), options=SearchOptions(steps=30, lr=30.0))
    assert bool(found.weights.isfinite().all())
    torch.testing.assert_close(found.weights.sum(-1), torch.ones_like(found.jsd))


@pytest.mark.parametrize("classes", [1, 2, 3])
@pytest.mark.parametrize("max_items", [1, 2**20])
def test_through_an_affine_head_it_is_the_same(classes: int, max_items: int) -> None:
    weights, says, mask, keys = rows(5, classes, zeros=True)
    options = SearchOptions(steps=25)
    found = search(weights, says, mask, keys, 1, options)
    through = search_through(weights, affine(says, mask), mask, keys, 1, options, max_items)
    same(found, through, 1e-5)


def test_one_logit_is_two() -> None:
    weights, says, mask, keys = rows(2)
    two = torch.cat([torch.zeros_like(says), says], dim=-1)
    one, both = (search(weights, given, mask, keys, options=SHORT) for given in (says, two))
    same(one, replace(both, logits=both.logits[..., 1:], own_logits=both.own_logits[:, 1:]), 1e-12)


# -- where it starts


def test_starts_are_normal_numbers_of_the_spread() -> None:
    begun = start(torch.arange(300), 11, 0, SearchOptions(spread=3.0)).numpy()
    assert stats.kstest(begun.ravel() / 3, "norm").pvalue > 0.01
    correlation = np.corrcoef(begun.reshape(5, -1)) - np.eye(5)
    assert np.abs(correlation).max() < 4 / math.sqrt(begun[0].size)


def test_starts_are_box_and_mullers() -> None:
    keys = torch.tensor([4, 9])
    noise = HashedDropout.of(keys, 3, 6, 0)
    first, second = (float(noise.uniform(place)[1, 2]) for place in (701, 702))
    begun = start(keys, 3, 6, SearchOptions(spread=2.0))
    radius, angle = math.sqrt(-2 * math.log(1 - first)), 2 * math.pi * second
    assert float(begun[0, 1, 2]) == pytest.approx(2 * radius * math.cos(angle))
    assert float(begun[1, 1, 2]) == pytest.approx(2 * radius * math.sin(angle))
    assert torch.equal(begun[:4], start(keys, 3, 6, SearchOptions(restarts=4, spread=2.0)))


# -- what must hold


@pytest.mark.slow
@few
@given(seeds, st.sampled_from([1, 2, 3]), st.integers(1, 6), st.booleans())
def test_what_is_found_is_attention_and_told_of_truly(
    seed: int, classes: int, restarts: int, zeros: bool
) -> None:
    weights, says, mask, keys = rows(seed, classes, zeros=zeros)
    found = search(weights, says, mask, keys, options=replace(SHORT, restarts=restarts))
    assert found.weights.dtype == found.jsd.dtype == found.change.dtype == torch.float64
    assert bool((found.weights >= 0).all())
    assert not found.weights[:, ~mask].any()
    torch.testing.assert_close(found.weights.sum(-1), torch.ones_like(found.jsd))
    assert bool((found.jsd >= -1e-15).all())
    assert bool((found.jsd <= MOST + 1e-15).all())
    torch.testing.assert_close(found.jsd, jensen_shannon(found.weights, weights))
    torch.testing.assert_close(found.own_logits, torch.einsum("bi,bic->bc", weights, says))
    torch.testing.assert_close(found.logits, torch.einsum("kbi,bic->kbc", found.weights, says))
    shift = probabilities(found.logits) - probabilities(found.own_logits)
    decided = decisions(found.own_logits).view(1, -1, 1).expand(restarts, -1, 1)
    torch.testing.assert_close(found.change, shift.gather(-1, decided).squeeze(-1).abs())
    alone = mask.sum(-1) == 1
    assert not found.jsd[:, alone].any()
    assert not found.change[:, alone].any()


@pytest.mark.slow
@few
@given(seeds, st.sampled_from([1, 3]), st.integers(0, 5), st.integers(0, 9))
def test_a_document_is_searched_the_same_alone(
    seed: int, classes: int, index: int, padding: int
) -> None:
    weights, says, mask, keys = rows(seed, classes)
    together = search(weights, says, mask, keys, seed, SHORT)
    one = slice(index, index + 1)
    wider = functional.pad(weights[one], (0, padding)), functional.pad(mask[one], (0, padding))
    said = functional.pad(says[one], (0, 0, 0, padding), value=torch.nan)
    apart = search(wider[0], said, wider[1], keys[one], seed, SHORT)
    same(row(together, index, mask.shape[1] + padding), apart, 1e-5)


@pytest.mark.slow
@few
@given(seeds, st.sampled_from([1, 3]), st.integers(1, 120))
def test_chunks_change_nothing(seed: int, classes: int, max_items: int) -> None:
    given = rows(seed, classes, zeros=True)
    whole = search(*given, options=SHORT)
    same(whole, search(*given, options=SHORT, max_items=max_items), 1e-5)


def test_the_same_twice_and_another_with_another_seed() -> None:
    given = rows(1)
    first, again, other = (search(*given, seed, SHORT) for seed in (4, 4, 5))
    same(first, again, 0)
    assert bool((first.weights - other.weights).abs().amax() > 0.1)


def test_single_precision_and_weights_that_hardly_sum_to_one() -> None:
    weights, says, mask, keys = rows(3)
    single = search(weights.float() * 1.0001, says.float(), mask, keys, options=SHORT)
    same(search(weights, says, mask, keys, options=SHORT), single, 1e-5)


def test_no_documents() -> None:
    found = search(*(given[:0] for given in rows(0))).best(0.05)
    assert found.weights.shape == (0, 7)


# -- through other heads


def test_a_head_that_is_not_affine_is_searched_as_it_is() -> None:
    """The whole search; its head is asked again about what came out."""
    generator = torch.Generator().manual_seed(0)
    weights, items, mask, keys = rows(7, classes=4)
    inner, outer = (torch.randn(4, size, generator=generator).double() for size in (4, 3))

    def answer(weights: Tensor) -> Tensor:
        return torch.tanh(torch.einsum("kbi,bic->kbc", weights, items) @ inner) @ outer

    found = search_through(weights, answer, mask, keys, options=SearchOptions(steps=150))
    own = probabilities(answer(weights.unsqueeze(0)))
    shift = (probabilities(answer(found.weights)) - own).abs()
    decided = decisions(found.own_logits).view(1, -1, 1).expand(5, -1, 1)
    torch.testing.assert_close(found.change, shift.gather(-1, decided).squeeze(-1))
    torch.testing.assert_close(found.logits, answer(found.weights))
    torch.testing.assert_close(found.jsd, jensen_shannon(found.weights, weights))
    free = search_through(weights, answer, mask, keys, options=SearchOptions(steps=0))
    assert bool((found.change <= 0.05).double().mean() > (free.change <= 0.05).double().mean())
    best, begun = found.best(0.05), free.best(0.05)
    assert bool((best.change <= 0.05).all())
    assert bool(best.jsd.mean() > begun.jsd.mean())


# -- the best of what was found


@few
@given(seeds, st.floats(0, 1), st.integers(1, 5))
def test_the_best_is_the_farthest_that_keeps_the_prediction(
    seed: int, epsilon: float, restarts: int
) -> None:
    given = rows(seed)
    found = search(*given, options=SearchOptions(restarts=restarts, steps=1))
    best = found.best(epsilon)
    for document in range(len(given[0])):
        told = [(0.0, -1), *((float(found.jsd[k, document]), k) for k in range(restarts))]
        kept = [one for one in told if one[1] < 0 or found.change[one[1], document] <= epsilon]
        jsd, restart = max(kept, key=lambda one: one[0])
        assert (float(best.jsd[document]), int(best.restart[document])) == (jsd, restart)
        assert float(best.change[document]) <= epsilon
        of = found.weights[restart, document], found.logits[restart, document]
        if restart < 0:
            of = found.own_weights[document], found.own_logits[document]
            assert float(best.change[document]) == 0
        assert torch.equal(best.weights[document], of[0])
        assert torch.equal(best.logits[document], of[1])


def test_it_finds_the_item_that_says_the_same() -> None:
    """All weight is on the first of two items that say the same; a third says otherwise."""
    weights = torch.tensor([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    says = torch.tensor([[[3.0], [3.0], [-3.0]], [[0.0], [2.0], [2.0]]])
    mask = torch.ones(2, 3, dtype=torch.bool)
    best = search(weights, says, mask, torch.tensor([1, 2])).best(0.05)
    assert bool((best.jsd > 0.95 * MOST).all())
    assert bool((best.weights[:, 1] > 0.95).all())


# -- errors


def test_shapes_that_do_not_fit_are_named() -> None:
    weights, says, mask, keys = rows(0)
    with raises("tensor.wrong-shape", "item_logits"):
        search(weights, says[:, 1:], mask, keys)
    with raises("tensor.wrong-shape", "mask"):
        search(weights, says, mask[:, 1:], keys)
    with raises("tensor.wrong-shape", "keys"):
        search(weights, says, mask, keys[1:])
    with raises("tensor.bad-values"):
        search(weights, says, torch.zeros_like(mask), keys)
    with raises("option.out-of-range", "restarts"):
        search(weights, says, mask, keys, options=SearchOptions(restarts=0))
    with raises("tensor.wrong-shape"):
        search_through(weights, lambda given: given[..., 0], mask, keys)


def test_a_change_of_exactly_epsilon_is_kept() -> None:
    found = search(*rows(0), options=SearchOptions(restarts=1, steps=1))
    seen = 0
    for document, change in enumerate(found.change[0].tolist()):
        if 0 < change < 1 and found.jsd[0, document] > 0:
            assert found.best(change).restart[document].item() == 0
            seen += 1
    assert seen > 2


def test_keys_left_out_are_places() -> None:
    weights, says, mask, _ = rows(0)
    plain = search(weights, says, mask, options=SearchOptions(steps=3))
    told = search(weights, says, mask, torch.arange(len(mask)), options=SearchOptions(steps=3))
    assert torch.equal(plain.weights, told.weights)


@pytest.mark.parametrize("items", [3, 12])
def test_many_restarts_never_get_beyond_the_certificate(items: int) -> None:
    weights, says, mask, keys = rows(items, batch=12, items=items, zeros=True)
    found = search(weights, says, mask, keys, options=SearchOptions(restarts=40, steps=300))
    for epsilon in (0.01, 0.05, 0.3, 1.0):
        certificate = most_divergent(weights, says, mask, epsilon)
        assert (found.best(epsilon).jsd <= certificate.jsd + 1e-12).all()
