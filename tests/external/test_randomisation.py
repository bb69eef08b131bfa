"""Scores change when weights are drawn anew, and the weights are as before afterwards."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from architectures import make_model
from scipy.stats import spearmanr

import verax
from support.errors import raises
from support.internals import RANDOMISATION_SCORE, parts_from_the_top, redraw, weights_kept
from verax import TransformerClassifier
from verax.importance import score

NAMES = ["attention", "attention@1", "gradient-input", "random"]


@pytest.mark.slow
def test_correlations_by_depth(bert: TransformerClassifier, texts: list[str]) -> None:
    """The first two depths beside SciPy, text by text."""
    before = {n: p.clone() for n, p in bert.module.named_parameters()}
    table = verax.randomisation_check(bert, texts, NAMES, seed=5, max_tokens=40)
    assert all(torch.equal(p, before[n]) for n, p in bert.module.named_parameters())
    parts = ["head", *(f"bert.encoder.layer.{i}" for i in (2, 1, 0)), "embeddings"]
    assert table["part"].tolist() == parts * len(NAMES)
    assert table["depth"].tolist() == [1, 2, 3, 4, 5] * len(NAMES)
    assert (table["texts"] == 4).all()  # one text has one word
    trace = bert.trace(texts)
    y = trace.logits.argmax(-1)
    generator = torch.Generator().manual_seed(5)
    old = {name: score(name, bert, trace, target=y).numpy() for name in NAMES}
    with weights_kept(bert):
        for depth, part in enumerate(parts_from_the_top(bert, trace.pieces)[:2], start=1):
            redraw(part, generator)
            again = bert.trace(texts)
            for name in NAMES:
                new = score(name, bert, again, target=y).numpy()
                each = [
                    spearmanr(old[name][row, :n], new[row, :n]).statistic
                    for row, n in enumerate(trace.mask.sum(-1).tolist())
                    if n > 1
                ]
                row = table[(table["importance"] == name) & (table["depth"] == depth)].iloc[0]
                np.testing.assert_allclose(row["correlation"], np.mean(each), atol=1e-6)


def test_what_does_not_depend_on_weights_is_flagged(
    bert: TransformerClassifier, reviews: verax.Corpus
) -> None:
    table = verax.randomisation_check(bert, reviews, "random,attention@1", sample=6)
    flags = {name: rows["unchanged"].tolist() for name, rows in table.groupby("importance")}
    assert flags["random"] == [True] * 5
    assert flags["attention@1"][:3] == [True] * 3  # the first layer is not drawn yet
    first = table.query("importance == 'attention@1' and depth < 4")["correlation"]
    np.testing.assert_allclose(first, 1.0)
    assert table.query("importance == 'attention@1' and depth == 5")["correlation"].item() < 0.99
    assert table["texts"].max() <= 6


def test_weights_are_as_before_after_an_error(
    bert: TransformerClassifier, texts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = bert.fingerprint
    calls = 0

    def failing(*given: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls > 2:
            raise RuntimeError("in between")
        return score(*given, **options)

    monkeypatch.setattr(RANDOMISATION_SCORE, failing)
    with pytest.raises(RuntimeError, match="in between"):
        verax.randomisation_check(bert, texts, "attention")
    assert calls == 3
    assert bert.fingerprint == before


@pytest.mark.slow
@pytest.mark.parametrize(("name", "parts"), [("T5", 6), ("DebertaV2", 4), ("Albert", 3)])
def test_every_parameter_is_in_one_part(tokenizer: Any, name: str, parts: int) -> None:
    model = verax.from_transformers(make_model(name), tokenizer)
    found = parts_from_the_top(model, model.trace(["not good"]).pieces)
    assert len(found) == parts
    assert [found[0].name, found[-1].name] == ["head", "embeddings"]
    ids = [id(parameter) for part in found for parameter in part.parameters]
    assert sorted(ids) == sorted(map(id, model.module.parameters()))


def test_refusals(bert: TransformerClassifier, texts: list[str]) -> None:
    with raises("model.wrong-type"):
        verax.randomisation_check(object(), texts)  # type: ignore[arg-type]
    with raises("option.unknown-value", "pearson"):
        verax.randomisation_check(bert, texts, correlation="pearson")
