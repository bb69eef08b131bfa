"""Erasure of a Transformer's attention, against masks, a handler written by hand, and all sets."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
import torch

import verax
from support.documents import per_document
from support.errors import raises
from support.internals import AttentionCall, WordStates, erasing, positions_of
from verax import TransformerClassifier


@pytest.fixture(scope="module")
def model(make_classifier: Any) -> TransformerClassifier:
    return make_classifier(2)


@torch.no_grad()
def test_erasure_everywhere_is_a_mask(model: TransformerClassifier, texts: list[str]) -> None:
    """A softmax over the others is the rest of the row scaled up."""
    trace = model.trace(texts)
    removed = torch.rand(trace.mask.shape, generator=torch.Generator().manual_seed(0)) < 0.4
    states = WordStates(model, trace, range(model.layers), 32, max_tokens=30)
    rows = torch.arange(len(texts))
    masked = model.run(trace.pieces.masked_out(removed & trace.mask)).logits
    assert torch.allclose(states.logits_of(rows, removed), masked, atol=1e-5)


@torch.no_grad()
def test_erasure_in_one_layer_by_hand(model: TransformerClassifier, texts: list[str]) -> None:
    trace = model.trace(texts[:1])
    columns = [k for k, word in enumerate(trace.pieces.word[0].tolist()) if word in (1, 4)]

    def by_hand(call: AttentionCall) -> torch.Tensor | None:
        if call.number != 1:
            return None
        weights = call.weights.clone()
        for head in range(weights.shape[1]):
            for row in range(weights.shape[2]):
                before = float(weights[0, head, row].sum())
                weights[0, head, row, columns] = 0
                weights[0, head, row] *= before / float(weights[0, head, row].sum())
        return weights

    removed = torch.zeros_like(trace.mask)
    removed[0, [1, 4]] = True
    states = WordStates(model, trace, [1], 32)
    expected = model.run(trace.pieces, by_hand).logits
    assert torch.allclose(states.logits_of(torch.tensor([0]), removed), expected, atol=1e-5)
    assert not torch.allclose(expected, trace.logits, atol=1e-3)


def test_a_sink_keeps_its_share(model: TransformerClassifier, texts: list[str]) -> None:
    trace = model.trace(texts[:1])
    removed = torch.zeros_like(trace.mask)
    removed[0, 0] = True
    width = trace.pieces.input_ids.shape[1]
    weights = torch.rand(1, 2, width, width)
    weights /= weights.sum(-1, keepdim=True) / 0.7
    handler = erasing(positions_of(model, trace.pieces), removed, [0])
    left = handler(AttentionCall(0, weights, torch.ones(1, 1, width, width, dtype=torch.bool)))
    assert left is not None
    assert torch.allclose(left.sum(-1), torch.tensor(0.7))
    assert (
        handler(AttentionCall(1, weights, torch.ones(1, 1, width, width, dtype=torch.bool))) is None
    )


@pytest.mark.slow
def test_sizes_and_smallest_sets(model: TransformerClassifier, reviews: verax.Corpus) -> None:
    how: dict[str, Any] = {"draws": 1, "sample": 5, "seed": 1}
    verdict = verax.examine(model, reviews, "erasure", "all", **how)
    many = per_document(verdict, "erasure_many", "ranking", "draw")
    size = many["size"].unstack(["ranking", "draw"])
    least = per_document(verdict, "erasure_minimal")
    texts = dict(zip(reviews.documents("all").ids, reviews.documents("all").texts, strict=True))
    for id in least.index:
        trace = model.trace([texts[id]])
        states = WordStates(model, trace, range(model.layers), 32)
        words = trace.mask.shape[1]
        order = states.weights[0].argsort(descending=True, stable=True)
        sets = torch.stack(
            [torch.isin(torch.arange(words), order[:k]) for k in range(1, words + 1)]
        )
        flips = states.after(sets[None])[0].argmax(-1) != states.decision[0]
        expected = float(flips.nonzero()[0]) + 1 if flips.any() else np.nan
        np.testing.assert_equal(size.loc[id, ("attention", 0)], expected)
        if flips.any():
            mass = states.weights[0, order[: int(expected)]].sum()
            assert many.loc[(id, "attention", 0), "mass"] == pytest.approx(float(mass), abs=1e-6)
        if np.isnan(least.loc[id, "size"]) or least.loc[id, "size"] > 2:
            continue
        assert least.loc[id, "size"] <= size.loc[id].min()
        assert least.loc[id, "certified"] == 0
        smaller = [
            torch.isin(torch.arange(words), torch.tensor(chosen))
            for k in range(1, int(least.loc[id, "size"]) + 1)
            for chosen in combinations(range(words), k)
        ]
        found = states.after(torch.stack(smaller)[None])[0].argmax(-1) != states.decision[0]
        assert found.any()
    assert least["size"].notna().any()
    assert {plan["promise"] for plan in verdict.manifest["plan"]} == {"searched"}
    summary = verdict.summary()
    assert {"erasure.fraction", "erasure.mass", "erasure.pairs"} <= set(summary["table"])
    assert verdict.value("erasure.documents.not_certified") == len(least)
    assert [row.exam for row in verdict.judgement.rows] == ["erasure"]


def test_layers_that_are_not_there_are_refused(
    model: TransformerClassifier, reviews: verax.Corpus
) -> None:
    for layers, expected in (
        ("0", ("option.malformed", "erased_layers")),
        ("9", ("option.out-of-range",)),
    ):
        with raises(*expected):
            verax.examine(model, reviews, "erasure", erased_layers=layers)
