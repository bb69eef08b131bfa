"""Training under another model's attention, and under none that learns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import verax
from support.errors import raises
from verax.models import AttentionClassifier, GuidedClassifier
from verax.training import evaluate, train_guided

SMALL: dict[str, Any] = {
    "encoder": "conv",
    "embedding_size": 12,
    "hidden_size": 12,
    "batch_size": 16,
    "lr": 1e-2,
    "device": "cpu",
}


@pytest.fixture(scope="module")
def guide(planted: verax.Corpus) -> AttentionClassifier:
    told = {"grounding": "tying", "strength": 0.1, "projection": "sparsemax"}
    return verax.train(
        planted, epochs=4, class_weight="balanced", metric="macro_f1", **SMALL, **told
    )


@pytest.mark.slow
def test_it_learns_under_the_guides_attention(
    planted: verax.Corpus, guide: AttentionClassifier
) -> None:
    before = {name: value.clone() for name, value in guide.state_dict().items()}
    model = train_guided(guide, planted, seed=1, device="cpu")
    assert isinstance(model, GuidedClassifier)
    assert not model.training
    for name, value in guide.state_dict().items():
        assert torch.equal(value, before[name])
    batch = model.encode(planted.test).batch(np.arange(9), model.device)
    assert torch.equal(model.trace(batch).weights, guide.trace(batch).weights)
    expected = evaluate(model.logits(planted.test), planted.test.labels)
    assert model.record["test"] == pytest.approx(expected)
    assert model.record["test"]["accuracy"] > 0.8
    assert len(model.history) == 5


def test_what_is_not_asked_for_is_the_guides(
    planted: verax.Corpus, guide: AttentionClassifier
) -> None:
    model = train_guided(guide, planted, seed=1, device="cpu", epochs=1)
    assert (model.options.encoder, model.options.hidden_size) == ("mlp", 128)
    assert model.options.grounding == "none"
    assert model.options.embedding_size == 12
    settings, of_guide = model.record["training"], guide.record["training"]
    assert {n for n in of_guide if settings[n] != of_guide[n]} == {"epochs", "seed"}
    assert settings["class_weight"] == "balanced"
    assert sorted(model.record) == ["corpus", "guide", "test", "training", "vectors"]
    told = model.record["guide"]
    assert (told["seed"], told["model"]["projection"]) == (0, "sparsemax")
    assert told["test"] == guide.record["test"]


@pytest.mark.slow
def test_a_seed_fixes_it(planted: verax.Corpus, guide: AttentionClassifier) -> None:
    one, again = (
        train_guided(guide, planted, seed=2, device="cpu", epochs=1, encoder="conv", hidden_size=8)
        for _ in range(2)
    )
    assert one.history.equals(again.history)
    for name, value in one.state_dict().items():
        assert torch.equal(value, again.state_dict()[name])
    start = one.attention.state_dict()
    longer = train_guided(
        guide, planted, seed=2, device="cpu", epochs=2, select_from=2, encoder="conv", hidden_size=8
    )
    for name, value in longer.attention.state_dict().items():
        assert torch.equal(value, start[name])


@pytest.mark.slow
def test_what_cannot_be_is_told(planted: verax.Corpus, guide: AttentionClassifier) -> None:
    sentences = verax.train(planted, epochs=1, hierarchical=True, **SMALL)
    with raises("model.unsuitable-guide"):
        train_guided(sentences, planted)
    for name, value in (("projection", "softmax"), ("boundaries", False), ("min_df", 3)):
        with raises("option.conflict", name, repr(value)):
            train_guided(guide, planted, **{name: value})
    with raises("option.unknown", "guid"):
        train_guided(guide, planted, guid=1)


@pytest.mark.slow
@pytest.mark.parametrize("hierarchical", [False, True])
@pytest.mark.parametrize("attention", ["additive", "dot"])
def test_uniform_attention_learns_nothing_itself(
    planted: verax.Corpus, attention: str, hierarchical: bool
) -> None:
    told = {"projection": "uniform", "attention": attention, "hierarchical": hierarchical}
    short, long = (
        verax.train(planted, epochs=n, select_from=n, **{**SMALL, "encoder": "mlp"}, **told)
        for n in (1, 3)
    )
    for name, value in long.state_dict().items():
        still = torch.equal(value, short.state_dict()[name])
        assert still == name.startswith(("attention.", "word_attention.")), name
    trace = long.trace(["w1 w2 good0_3 . w4 ."])
    n = int(trace.mask.sum())
    torch.testing.assert_close(trace.weights[trace.mask], torch.full((n,), 1 / n))


def test_a_folder_is_as_good_as_a_model(
    planted: verax.Corpus, guide: AttentionClassifier, tmp_path: Path
) -> None:
    guide.save(tmp_path / "guide")
    expected = train_guided(guide, planted, seed=1, device="cpu", epochs=1)
    model = train_guided(tmp_path / "guide", planted, seed=1, device="cpu", epochs=1)
    assert model.record == expected.record
    assert torch.equal(model.logits(planted.test), expected.logits(planted.test))
    with raises("model.missing"):
        train_guided("nowhere", planted)
