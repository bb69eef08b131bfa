"""Another attention in the last layer: what the search finds is there when it is replayed."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import verax
from support.documents import per_document
from support.internals import AttentionCall
from verax import TransformerClassifier
from verax.exams.adversary.last_layer import moved_by_permuting, read_rows, search_last_layer
from verax.functional import jensen_shannon
from verax.importance import score, special_share

BOUNDS = [0.0, 0.02, 0.1, 1.0]


@pytest.fixture(scope="module", params=["first", "mean"])
def model(request: pytest.FixtureRequest, make_classifier: Any, tokenizer: Any) -> Any:
    whole = make_classifier(2)
    if request.param == "first":
        return whole
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        head = torch.nn.Linear(16, 2)
    how: dict[str, Any] = {"readout": "mean", "head": head, "classes": ["LABEL_0", "LABEL_1"]}
    return verax.from_transformers(whole.module.bert, tokenizer, **how)


@pytest.mark.slow
def test_a_witness_is_there_when_it_is_replayed(
    model: TransformerClassifier, texts: list[str]
) -> None:
    trace = model.trace(texts)
    own = read_rows(model, trace.pieces)
    keys = torch.arange(len(texts))
    found = search_last_layer(
        model, trace.pieces, own, trace.logits, BOUNDS, keys, restarts=2, steps=8
    )
    shares = trace.logits.double().softmax(-1)
    single = model.readout == "first"
    own_words = score("attention", model, trace)
    spread = own.spread(own.weights)
    by_word = trace.pieces.sum_by_word(spread, trace.mask.shape[1])
    assert torch.allclose(by_word, own_words, atol=1e-6)
    assert special_share(model, trace).shape[1] == model.layers
    for k, bound in enumerate(BOUNDS):
        weights = found.weights[k]
        assert torch.allclose(weights.sum(-1), own.weights.sum(-1), atol=1e-5)
        assert not weights[~own.allowed].any()

        def replay(call: AttentionCall, weights: torch.Tensor = weights) -> torch.Tensor | None:
            if call.number < model.layers - 1:
                return None
            rows = call.weights.clone()
            rows[:, :, : weights.shape[2]] = weights
            return rows

        with torch.no_grad():
            logits = model.run(trace.pieces, replay).logits
        assert torch.allclose(logits, found.logits[k], atol=1e-5)
        moved = (logits.double().softmax(-1) - shares).abs().sum(-1) / 2
        assert bool((moved <= bound + 1e-6).all())
        means = [rows.mean(1) for rows in (weights, own.weights)]
        read = model.readout_rows(trace.pieces)
        if single:
            new, old = (mean[:, 0] for mean in means)
        else:
            new, old = ((read.unsqueeze(1) @ mean).squeeze(1) for mean in means)
        expected = jensen_shannon(new.double(), old.double())
        assert torch.allclose(found.jsd[k], expected, atol=1e-6)
    assert bool((found.jsd.diff(dim=0) >= -1e-12).all())  # more is found where more may move
    assert not found.jsd[0].any()
    assert bool((found.jsd[1:3] > 0.05).any())


@pytest.mark.slow
def test_tables_are_those_of_any_model(model: TransformerClassifier, reviews: verax.Corpus) -> None:
    how: dict[str, Any] = {
        "restarts": 1,
        "search_steps": 2,
        "permutation_test": 2,
        "epsilons": "0.05,1",
    }
    verdict = verax.examine(model, reviews, "adversary", **how)
    instances = per_document(verdict, "adversary_instances")
    found = per_document(verdict, "adversary", "epsilon", "by")
    free = found.xs("1", level="epsilon").droplevel("by")
    assert free["jsd"].to_numpy() == pytest.approx(instances["farthest"].to_numpy(), abs=1e-5)
    assert (found["upper_bound"] >= found["jsd"]).all()
    assert not found["certified"].any()
    again = verax.examine(model, reviews, "adversary", max_tokens=24, **how)
    assert again.tables["adversary"]["value"].to_numpy() == pytest.approx(
        verdict.tables["adversary"]["value"].to_numpy(), abs=1e-2
    )
    (row,) = verdict.judgement.rows
    assert row.exam == "adversary"
    assert verdict.manifest["plan"][0]["promise"] == "searched"


def test_one_order_is_dealt_to_all_heads(model: TransformerClassifier, texts: list[str]) -> None:
    trace = model.trace(texts[:2])
    own = read_rows(model, trace.pieces)
    keys = torch.arange(2)
    moved = moved_by_permuting(model, trace.pieces, own, trace.logits, keys, 0, 3)
    assert moved.shape == (3, 2)
    assert bool((moved > 0).all())
    assert bool((moved <= 1).all())
