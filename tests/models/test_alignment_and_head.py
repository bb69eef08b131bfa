"""Scores and logits by hand."""

from __future__ import annotations

import math

import pytest
import torch

from verax.corpora import Tokeniser, Vocabulary
from verax.functional import pool
from verax.models import (
    HashedDropout,
    Head,
    ModelOptions,
    decisions,
    make_classifier,
    probabilities,
)


def alignment(attention: str, size: int, query_init: str = "normal") -> torch.nn.Module:
    """Return the alignment of a model whose items have this size."""
    options = ModelOptions(
        encoder="none", attention=attention, embedding_size=size, query_init=query_init
    )
    model = make_classifier(options.resolved(2), Vocabulary(["a"]), ["no", "yes"], Tokeniser())
    return model.attention.alignment


def test_additive_is_v_tanh_of_an_affine_map() -> None:
    torch.manual_seed(0)
    align = alignment("additive", 6).double()
    items = torch.randn(2, 3, 6, dtype=torch.float64)
    weight, bias = align.transform.weight, align.transform.bias
    assert weight.shape == (3, 6)
    assert align.query.bias is None
    for b in range(2):
        for i in range(3):
            expected = align.query.weight[0] @ torch.tanh(weight @ items[b, i] + bias)
            torch.testing.assert_close(align(items)[b, i], expected)


def test_dot_divides_by_the_root_of_the_size() -> None:
    torch.manual_seed(0)
    align = alignment("dot", 16).double()
    items = torch.randn(2, 3, 16, dtype=torch.float64)
    torch.testing.assert_close(align(items), (items * align.query).sum(-1) / 4)
    bare = alignment("dot-unscaled", 16).double()
    torch.testing.assert_close(bare(items), (items * bare.query).sum(-1))


def test_the_two_initial_queries_differ_as_published() -> None:
    torch.manual_seed(0)
    normal, default = (alignment("dot", 4_000, init).query for init in ("normal", "default"))
    assert 0.95 < normal.std() < 1.05
    assert default.abs().max() <= 1 / math.sqrt(4_000)
    assert default.std() > 0.5 / math.sqrt(4_000)


def test_pool_is_the_weighted_sum() -> None:
    weights = torch.tensor([[0.25, 0.75, 0.0]])
    items = torch.tensor([[[1.0, 0.0], [0.0, 4.0], [9.0, 9.0]]])
    assert pool(weights, items).tolist() == [[0.25, 3.0]]


def test_one_logit_gives_the_probabilities_of_two_classes() -> None:
    logits = torch.tensor([[-2.0], [0.0], [3.0]], dtype=torch.float64)
    found = probabilities(logits)
    torch.testing.assert_close(found[:, 1], torch.sigmoid(logits[:, 0]))
    torch.testing.assert_close(found.sum(1), torch.ones(3, dtype=torch.float64))
    assert decisions(logits).tolist() == [0, 0, 1]
    assert decisions(torch.tensor([[1.0, 1.0], [0.0, 2.0]])).tolist() == [0, 1]


@pytest.mark.parametrize("on", ["logits", "context"])
def test_classification_dropout_falls_where_it_is_told(on: str) -> None:
    head = Head(50, 40, False, 0.5, on)
    noise = HashedDropout.of(torch.arange(64), 1, 0, 0).rows()
    context = torch.randn(64, 50)
    logits = head(context, noise)
    zeros = (logits == 0).double().mean()
    assert zeros > 0.4 if on == "logits" else zeros == 0
    assert torch.equal(head(context), head.linear(context))
    assert not torch.allclose(head(context), logits)
