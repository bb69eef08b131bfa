"""Other attention over the same items: against a head asked anew, and by counting orders."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from torch import Tensor, nn

from support.internals import uniform_weights as uniform
from verax.functional import permuted
from verax.models import AttentionClassifier, Trace, logits_under

Make = Callable[..., AttentionClassifier]
TEXTS = [
    ["w1", "w2", ".", "good0_1", "w4", "w5", ".", "w9", "."],
    ["w7"],
    ["w3", "w3", "good1_2", ".", "w8", "w1", "w2"],
    ["w5", "good0_3"],
]
SLOTS = [
    {},
    {"head": "softmax"},
    {"classes": 4, "encoder": "conv", "projection": "sparsemax"},
    {"hierarchical": True},
    {"hierarchical": True, "classes": 3},
]


class Curved(nn.Module):
    """A head that is not affine, and does not say it is."""

    def __init__(self, size: int, logits: int) -> None:
        super().__init__()
        self.inner, self.outer = nn.Linear(size, 7), nn.Linear(7, logits)

    def forward(self, context: Tensor) -> Tensor:
        return self.outer(torch.tanh(3 * self.inner(context)))


def traced(make_model: Make, slot: dict[str, object], curved: bool) -> Trace:
    model = make_model(**slot)
    if curved:
        torch.manual_seed(1)
        model.head = Curved(model.head.linear.in_features, model.head.linear.out_features)  # type: ignore[assignment]
    return model.double().trace(TEXTS)


def on_the_simplex(mask: Tensor, *draws: int) -> Tensor:
    random = torch.Generator().manual_seed(2)
    drawn = torch.rand(*draws, *mask.shape, generator=random).double() * mask
    return drawn / drawn.sum(-1, keepdim=True)


# -- logits


@pytest.mark.parametrize("curved", [False, True])
@pytest.mark.parametrize("slot", SLOTS, ids=str)
def test_logits_are_what_the_head_says_of_the_mean_of_items(
    make_model: Make, slot: dict[str, object], curved: bool
) -> None:
    """Document by document, item by item, and the head asked about the sum."""
    trace = traced(make_model, slot, curved)
    assert trace.is_affine != curved
    weights = on_the_simplex(trace.mask, 3)
    found = logits_under(trace, weights)
    assert found.dtype == torch.float64
    assert found.shape == (3, *trace.logits.shape)
    for draw, row in itertools.product(range(3), range(len(TEXTS))):
        context = torch.zeros_like(trace.items[row, 0])
        for place in np.flatnonzero(trace.mask[row]):
            context += weights[draw, row, place] * trace.items[row, place]
        torch.testing.assert_close(found[draw, row], trace.head(context))


@pytest.mark.parametrize("curved", [False, True])
@pytest.mark.parametrize("slot", SLOTS, ids=str)
def test_under_its_own_attention_a_model_says_what_it_says(
    make_model: Make, slot: dict[str, object], curved: bool
) -> None:
    trace = traced(make_model, slot, curved)
    torch.testing.assert_close(logits_under(trace, trace.weights), trace.logits)


@pytest.mark.parametrize("curved", [False, True])
@pytest.mark.parametrize("slot", SLOTS[:2], ids=str)
def test_any_axes_may_stand_in_front(
    make_model: Make, slot: dict[str, object], curved: bool
) -> None:
    trace = traced(make_model, slot, curved)
    weights = on_the_simplex(trace.mask, 2, 3)
    found = logits_under(trace, weights)
    assert found.shape == (2, 3, *trace.logits.shape)
    for first, second in np.ndindex(2, 3):
        torch.testing.assert_close(
            found[first, second], logits_under(trace, weights[first, second])
        )


def test_an_affine_head_is_summed_in_double_precision(make_model: Make) -> None:
    """2¹⁹ + 2⁻¹² − 2¹⁹: single precision has nothing left of the one in the middle."""
    trace = make_model().trace([["w1", "w2", "w3"]])
    assert trace.items.dtype == torch.float32
    says = torch.tensor([[[0.0], [2.0**20], [2.0**-6], [-(2.0**20)], [0.0]]])
    trace = replace(trace)
    trace.__dict__["item_logits"] = says
    weights = torch.tensor([[0.0, 0.5, 2.0**-6, 0.5, 0.0]])
    assert logits_under(trace, weights).item() == 2.0**-12


@pytest.mark.parametrize("curved", [False, True])
def test_single_precision_goes_in_and_double_comes_out(make_model: Make, curved: bool) -> None:
    model = make_model(classes=3)
    if curved:
        model.head = Curved(12, 3)  # type: ignore[assignment]
    trace = model.trace(TEXTS)
    found = logits_under(trace, uniform(trace.mask))
    assert found.dtype == torch.float64
    expected = [trace.head(trace.items[row][trace.mask[row]].mean(0)) for row in range(len(TEXTS))]
    torch.testing.assert_close(found, torch.stack(expected).double(), atol=1e-5, rtol=1e-5)


# -- uniform

masks = st.integers(1, 9).flatmap(
    lambda width: st.lists(
        st.lists(st.booleans(), min_size=width, max_size=width), min_size=1, max_size=5
    )
)


@pytest.mark.slow
@given(masks)
def test_uniform_gives_each_item_its_share(rows: list[list[bool]]) -> None:
    mask = torch.tensor([[True, *row] for row in rows])
    found = uniform(mask)
    assert found.dtype == torch.float64
    torch.testing.assert_close(found.sum(-1), torch.ones(len(rows), dtype=torch.float64))
    for row, own in zip(mask.tolist(), found.tolist(), strict=True):
        assert own == [1 / sum(row) if there else 0 for there in row]


# -- permuted


@pytest.mark.slow
@given(masks, st.integers(0, 2**32 - 1), st.booleans())
def test_weights_are_dealt_out_to_a_rows_own_items(
    rows: list[list[bool]], seed: int, double: bool
) -> None:
    """Whatever the mask: gaps, one item, none; and what stands where masked is not dealt out."""
    mask = torch.tensor(rows)
    random = torch.Generator().manual_seed(seed % 1000)
    dtype = torch.float64 if double else torch.float32
    weights = torch.rand(*mask.shape, generator=random, dtype=dtype)
    keys = torch.arange(len(rows)) * 7
    found = permuted(weights, mask, keys, seed, 4)
    assert found.shape == (4, *mask.shape)
    assert found.dtype == dtype
    assert (found[:, ~mask] == 0).all()
    for draw in found:
        for own, new, there in zip(weights, draw, mask, strict=True):
            # to the last bit
            assert sorted(new[there].tolist()) == sorted(own[there].tolist())
    torch.testing.assert_close(permuted(weights, mask, keys, seed, 4), found, rtol=0, atol=0)


@pytest.mark.parametrize("width", [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 1023, 1024, 70_000])
def test_rows_of_any_width(width: int) -> None:
    """Around powers of two the place takes another bit of the sorted integer."""
    weights = torch.arange(1, width + 1).double().unsqueeze(0)
    whole = torch.ones(1, width, dtype=torch.bool)
    found = permuted(weights, whole, torch.tensor([3]), 0, 2)
    assert found.sort(-1).values.equal(weights.expand(2, 1, -1))
    if width > 9:
        assert not found[0].equal(found[1])
        assert (found[0] == weights).double().mean() < 0.5


def orders(mask: list[bool], keys: Tensor, draws: int, seed: int = 0) -> list[list[tuple]]:
    """For each draw and key, the order in which a row's weights come to stand."""
    there = torch.tensor([mask]).expand(len(keys), -1)
    weights = torch.arange(1, len(mask) + 1).expand(len(keys), -1)
    found = permuted(weights, there, keys, seed, draws)[..., there[0]]
    return [[tuple(order) for order in draw] for draw in found.tolist()]


def is_even(counts: Counter, kinds: int) -> bool:
    every = [*counts.values(), *[0] * (kinds - len(counts))]
    return len(every) == kinds and stats.chisquare(every).pvalue > 1e-3


@pytest.mark.parametrize(
    ("mask", "kinds"),
    [
        ([True] * 3, 6),
        ([False, True, False, True, True], 6),
        ([True] * 4, 24),
        ([False, True, True, False, True, True, False], 24),
    ],
)
@pytest.mark.parametrize("seed", [0, 1, 2**32 - 1])
def test_every_order_is_as_likely(mask: list[bool], kinds: int, seed: int) -> None:
    """Over documents, over the draws of one document, and one draw after another."""
    over_documents = orders(mask, torch.arange(4_800), 1, seed)[0]
    over_draws = [draw[0] for draw in orders(mask, torch.tensor([11]), 4_800, seed)]
    for found in (over_documents, over_draws):
        assert is_even(Counter(found), kinds)
    if kinds == 6:
        first, second = orders(mask, torch.arange(7_200), 2, seed)
        assert is_even(Counter(zip(first, second, strict=True)), 36)
        assert is_even(Counter(itertools.pairwise(first)), 36)


def test_documents_far_apart_and_many_items_are_even_too() -> None:
    """Where the first of 50 weights comes to stand, over documents whose keys are not in a row."""
    keys = torch.arange(5_000) * 1_000_003
    mask = torch.ones(5_000, 50, dtype=torch.bool)
    weights = torch.zeros(5_000, 50)
    weights[:, 0] = 1
    (found,) = permuted(weights, mask, keys, 5, 1)
    assert stats.chisquare(found.sum(0).numpy()).pvalue > 1e-3


def test_a_document_gets_the_same_draws_alone_in_a_batch_and_under_any_padding() -> None:
    random = torch.Generator().manual_seed(0)
    lengths = [3, 9, 1, 30, 6]
    keys = torch.tensor([40, 2, 0, 19, 7])
    mask = torch.arange(30) < torch.tensor(lengths).unsqueeze(-1)
    mask[:, 1] &= torch.tensor(lengths) < 5  # a gap in longer ones
    weights = torch.rand(5, 30, generator=random, dtype=torch.float64) * mask
    whole = permuted(weights, mask, keys, 4, 6)
    for row, length in enumerate(lengths):
        for width in {length, min(length + 2, 30), 30}:
            alone = permuted(
                weights[row : row + 1, :width],
                mask[row : row + 1, :width],
                keys[row : row + 1],
                4,
                6,
            )
            assert alone[:, 0].equal(whole[:, row, :width])
    turned = permuted(weights.flip(0), mask.flip(0), keys.flip(0), 4, 6)
    assert turned.flip(1).equal(whole)


def test_fewer_draws_are_the_first_of_more() -> None:
    weights, mask = torch.arange(12.0).expand(3, -1), torch.ones(3, 12, dtype=torch.bool)
    keys = torch.arange(3)
    assert permuted(weights, mask, keys, 0, 2).equal(permuted(weights, mask, keys, 0, 7)[:2])


def test_the_seed_the_document_and_the_draw_change_the_order() -> None:
    weights, mask = torch.arange(20.0).expand(2, -1), torch.ones(2, 20, dtype=torch.bool)
    keys = torch.tensor([0, 1])
    found = torch.cat([permuted(weights, mask, keys, seed, 2) for seed in (0, 1)])
    every = {tuple(order) for order in found.reshape(-1, 20).tolist()}
    assert len(every) == 2 * 2 * 2
    assert tuple(range(20)) not in every
