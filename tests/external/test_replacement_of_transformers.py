"""Attention of Transformers replaced: by hand with plain matrices, and by what must hold."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

import verax
from support.internals import (
    EDITS_MANY,
    MOST_HEADS,
    Edit,
    logits_under_edits,
    permuted_rows,
    uniform_rows,
)
from verax import TransformerClassifier
from verax.exams import plan


def by_hand(module: Any, pieces: Tensor, uniform: set[tuple[int, int]]) -> Tensor:
    """Logits of one text, layer by layer, with some (layer, head) attending uniformly."""
    bert = module.bert
    hidden = bert.embeddings(input_ids=pieces, token_type_ids=torch.zeros_like(pieces))
    for number, layer in enumerate(bert.encoder.layer, start=1):
        own = layer.attention.self
        parts = [
            (linear(hidden)[0].chunk(own.num_attention_heads, -1))
            for linear in (own.query, own.key, own.value)
        ]
        mixed = []
        for head, (query, key, value) in enumerate(zip(*parts, strict=True), start=1):
            weights = torch.softmax(query @ key.T / math.sqrt(query.shape[-1]), -1)
            if (number, head) in uniform:
                weights = torch.full_like(weights, 1 / len(weights))
            mixed.append(weights @ value)
        attended = layer.attention.output(torch.cat(mixed, -1).unsqueeze(0), hidden)
        hidden = layer.output(layer.intermediate(attended), attended)
    return module.classifier(bert.pooler(hidden))


@torch.no_grad()
def test_uniform_attention_is_that_of_plain_matrices(
    bert: TransformerClassifier, texts: list[str]
) -> None:
    """At all layers, at one layer and at one head, of texts of different lengths in one batch."""
    every = {(layer, head) for layer in (1, 2, 3) for head in (1, 2)}
    cases = {
        Edit("trained"): set(),
        Edit("uniform"): every,
        Edit("uniform", layer=2): {(2, 1), (2, 2)},
        Edit("uniform", layer=3, head=2): {(3, 2)},
    }
    trace: Any = bert.trace(texts)
    logits = logits_under_edits(bert, trace, list(cases), seed=0, max_tokens=100)
    for edited, uniform in zip(logits, cases.values(), strict=True):
        for row, answer in enumerate(edited):
            pieces = trace.pieces.input_ids[row][trace.pieces.mask[row]].unsqueeze(0)
            assert torch.allclose(
                answer, by_hand(bert.module, pieces, uniform)[0].double(), atol=1e-5
            )
    assert (logits[1:] - logits[0]).abs().amax() > 0.01


@torch.no_grad()
def test_passes_that_begin_at_a_layer_give_what_whole_ones_do(
    bert: TransformerClassifier, texts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    edits = [
        Edit("trained"),
        *(Edit("uniform", 0, layer, head) for layer in (3, 2, 1) for head in (0, 1, 2)),
        *(Edit("permuted", draw, 3) for draw in (0, 1)),
        Edit("uniform"),
    ]
    trace: Any = bert.trace(texts)
    whole = logits_under_edits(bert, trace, edits, seed=0, max_tokens=1000)
    monkeypatch.setattr(EDITS_MANY, 3)
    begun = logits_under_edits(bert, trace, edits, seed=0, max_tokens=1000)
    assert torch.allclose(begun, whole, atol=1e-5)


@pytest.mark.slow
@given(
    st.lists(st.tuples(st.integers(0, 9), st.booleans()), min_size=1, max_size=12),
    st.integers(0, 2**32 - 1),
    st.booleans(),
)
@settings(max_examples=30)
def test_permuted_rows_keep_what_is_allowed(
    row: list[tuple[int, bool]], seed: int, double: bool
) -> None:
    """The allowed weights of a row are the same in another order; masked ones stay zero."""
    allowed = torch.tensor([may for _, may in row])
    weights = torch.tensor([size / 10 for size, _ in row], dtype=torch.float64) * allowed
    weights = weights if double else weights.float()
    others = [weights, weights.flip(0)], [allowed, allowed.flip(0)]
    keys = torch.tensor([[5, 9]])
    both = permuted_rows(torch.stack(others[0])[None], torch.stack(others[1])[None], keys, seed)
    alone = permuted_rows(weights.view(1, 1, -1), allowed.view(1, 1, -1), keys[:, :1], seed)
    assert torch.equal(both[:, :1], alone)
    assert torch.equal(alone[0, 0].sort().values, weights.sort().values)
    assert not alone[0, 0][~allowed].any()


def test_a_sink_keeps_its_share() -> None:
    weights = torch.tensor([[0.5, 0.29, 0.0], [0.1, 0.1, 0.7]])
    allowed = torch.tensor([[True, True, False], [True, True, True]])
    assert torch.allclose(
        uniform_rows(weights, allowed), torch.tensor([[0.395, 0.395, 0], [0.3, 0.3, 0.3]])
    )


@pytest.mark.slow
def test_orders_differ_by_document_layer_head_query_and_draw(
    make_classifier: Callable[..., TransformerClassifier],
) -> None:
    """The same text twice is permuted in two ways; one document alone as among others."""
    bert = make_classifier(num_hidden_layers=6)
    trace: Any = bert.trace(["the plot is never good and the acting too dull"] * 2)
    edits = [
        Edit("permuted", 0),
        Edit("permuted", 1),
        *(Edit("permuted", 0, layer, head) for layer in (1, 2, 6) for head in (1, 2)),
    ]
    together = logits_under_edits(bert, trace, edits, seed=0, max_tokens=10_000)
    apart = logits_under_edits(bert, trace, edits, seed=0, max_tokens=1)
    assert torch.allclose(together, apart, atol=1e-5)
    assert len({tuple(row) for row in together.flatten(0, 1).tolist()}) == together[..., 0].numel()
    other = logits_under_edits(bert, trace, edits, seed=1, max_tokens=10_000)
    assert (other - together).abs().amin() > 0


@pytest.fixture(scope="module")
def verdict(bert: TransformerClassifier, reviews: verax.Corpus) -> verax.Verdict:
    return verax.examine(bert, reviews, "replacement", "all", permutations=3, by_head="both")


def test_tables_are_those_of_any_model_and_one_more(verdict: verax.Verdict) -> None:
    assert list(verdict.tables) == ["replacement", "replacement_places", "replacement_instances"]
    places = verdict.tables["replacement_places"]
    assert list(places["place"].cat.categories) == [
        *("1", "2", "3"),
        *("1.1", "1.2", "2.1", "2.2", "3.1", "3.2"),
    ]
    chosen = places[(places["place"] == "2") & (places["attention"] == "uniform")]
    tvd = chosen.loc[chosen["measure"] == "tvd", "value"]
    assert len(tvd) == 40
    assert verdict.value("replacement.places.2.uniform_tvd") == pytest.approx(tvd.mean())
    assert 0 < verdict.value("replacement.places.3.2.permuted_tvd") < 1
    assert verdict.value("replacement.trained.survival") == 100
    assert verdict.value("replacement.documents.decision_differs") == 0
    sentence = verdict.judgement.rows[0].sentence
    assert "With the attention of all layers made uniform" in sentence


@pytest.mark.slow
def test_neither_batches_nor_chance_change_numbers(
    bert: TransformerClassifier, reviews: verax.Corpus
) -> None:
    def examined(max_tokens: int) -> verax.Verdict:
        options: dict[str, Any] = {"permutations": 2, "sample": 6, "max_tokens": max_tokens}
        return verax.examine(bert, reviews, "replacement", "all", **options)

    verdict, same, small = examined(16_384), examined(16_384), examined(60)
    for name, table in verdict.tables.items():
        pd.testing.assert_frame_equal(same.tables[name], table, check_exact=True)
        pd.testing.assert_frame_equal(small.tables[name], table, atol=1e-5, rtol=0)


def test_many_heads_are_replaced_only_where_asked(
    bert: TransformerClassifier, reviews: verax.Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(MOST_HEADS, 5)
    (planned,) = plan(bert, ["replacement"])
    assert (
        planned.promise == "exact; not head by head, for there are 6: by_head=uniform asks for it"
    )
    options: dict[str, Any] = {"permutations": 1, "sample": 3}
    table = verax.examine(bert, reviews, "replacement", **options).tables["replacement_places"]
    assert list(table["place"].cat.categories) == ["1", "2", "3"]
    options |= {"by_layer": False}
    assert list(verax.examine(bert, reviews, "replacement", **options).tables) == [
        "replacement",
        "replacement_instances",
    ]
    table = verax.examine(bert, reviews, "replacement", **options, by_head="uniform").tables[
        "replacement_places"
    ]
    assert list(table["place"].cat.categories)[:3] == ["1.1", "1.2", "2.1"]
