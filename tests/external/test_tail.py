"""Passes that begin at a layer give what full passes give."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from architectures import make_model
from torch import Tensor

import verax
from support.errors import raises
from support.internals import WEIGHTS_PER_TOKEN, Site
from verax import TransformerClassifier


def halved(site: Site) -> Tensor | None:
    """The last layer's weights, moved towards equal ones."""
    if site.number != 1:
        return None
    even = site.allowed.to(site.weights.dtype).expand_as(site.weights)
    return (site.weights + even / even.sum(-1, keepdim=True).clamp(min=1)) / 2


@pytest.mark.parametrize(
    ("name", "skipped"),
    [("Bert", 1), ("Llama", 1), ("GPT2", 1), ("DebertaV2", 1), ("Albert", 0), ("T5", 0)],
)
@torch.no_grad()
def test_tail_gives_the_logits_of_full_passes(
    name: str, skipped: int, tokenizer: Any, texts: list[str]
) -> None:
    model = verax.from_transformers(make_model(name), tokenizer)
    pieces = model.trace(texts).pieces
    tail = model.tail(pieces, 1)
    assert tail.skipped == skipped
    whole = model.run(pieces, halved)
    assert torch.allclose(tail.run(halved).logits, whole.logits, atol=1e-5)
    assert not torch.allclose(tail.logits, whole.logits, atol=1e-4)
    rows = torch.tensor([3, 0, 0, 2])
    assert torch.allclose(tail.run(halved, rows).logits, whole.logits[rows], atol=1e-5)
    assert torch.allclose(model.run(pieces).logits, tail.logits, atol=1e-5)


def test_a_tail_is_gone_after_an_error(bert: TransformerClassifier, texts: list[str]) -> None:
    pieces = bert.trace(texts).pieces
    before = bert.run(pieces).logits
    tail = bert.tail(pieces, 2)

    def failing(site: Site) -> Tensor:
        assert site.number == 2
        raise KeyError(site.name)

    with pytest.raises(KeyError, match=r"layer\.2"):
        tail.run(failing)
    assert all("forward" not in vars(module) for module in bert.module.modules())
    assert torch.equal(bert.run(pieces).logits, before)
    with raises("option.out-of-range", "layer"):
        bert.tail(pieces, 3)


def test_gradients_flow_through_a_tail(bert: TransformerClassifier, texts: list[str]) -> None:
    pieces = bert.trace(texts).pieces
    slopes = []
    for run in (bert.tail(pieces, 1).run, lambda handler: bert.run(pieces, handler)):
        step = torch.zeros((), requires_grad=True)
        done = run(lambda site, step=step: site.weights * (1 + step) if site.number else None)
        slopes.append(torch.autograd.grad(done.logits[:, 1].sum(), step)[0])
    assert torch.allclose(slopes[0], slopes[1], rtol=1e-4)


def test_a_budget_bounds_pieces_and_weights(bert: TransformerClassifier) -> None:
    assert bert.heads == 2
    assert bert.rows_within(10, 100) == 10
    assert bert.rows_within(10_000, 100) == 1
    width, tokens, layers = 40, 64, 10
    held = WEIGHTS_PER_TOKEN * tokens
    rows = bert.rows_within(width, tokens * width, kept_layers=layers * width)
    assert bert.heads * width**2 * rows * layers * width <= held * width
    assert bert.heads * width**2 * (rows + 1) * layers * width > held * width
    read = bert.encode(["the film was " * 12, "good", "bad"])
    assert sorted(row for rows in bert.batches(read, 4) for row in rows) == [0, 1, 2]
