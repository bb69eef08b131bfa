"""Adversaries: their objective against SciPy, and what they learn on a planted task."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy.spatial.distance import jensenshannon

import verax
from support.errors import raises
from support.internals import AdversarialObjective, CachedOutputs, EncodedDocuments, Objective
from verax.functional import tying_loss
from verax.models import AttentionClassifier, probabilities
from verax.training import divergences, evaluate, train_adversary

Make = Callable[..., AttentionClassifier]
Encode = Callable[[AttentionClassifier], EncodedDocuments]
SMALL: dict[str, Any] = {
    "encoder": "none",
    "embedding_size": 12,
    "hidden_size": 12,
    "batch_size": 16,
    "lr": 2e-2,
    "device": "cpu",
}
QUICK: dict[str, Any] = {"epochs": 2, "device": "cpu"}


@pytest.fixture(scope="module")
def base(planted: verax.Corpus) -> AttentionClassifier:
    return verax.train(planted, epochs=6, **SMALL)


def pair(make_model: Make, classes: int = 2, **slot: Any) -> tuple[AttentionClassifier, ...]:
    """A model and a base for it, both in double precision and of uneven attention."""
    models = [make_model(classes, **slot).double() for _ in range(2)]
    for seed, model in enumerate(models):
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter += 0.3 * torch.randn(parameter.shape, generator=generator)
    return tuple(models)


# The objective.


@pytest.mark.parametrize(
    ("classes", "slot"),
    [
        (2, {"encoder": "none"}),
        (2, {"head": "softmax", "projection": "sparsemax"}),
        (3, {"encoder": "mlp"}),
        (2, {"encoder": "conv", "hierarchical": True, "projection": "entmax"}),
    ],
)
def test_the_objective_is_the_mean_over_documents_of_tvd_less_lam_times_jsd(
    make_model: Make, encoded: Encode, classes: int, slot: dict[str, Any]
) -> None:
    model, other = pair(make_model, classes, **slot)
    documents, rows = encoded(model), np.array([4, 50, 7, 21, 120])
    objective = AdversarialObjective(model, None, 0, CachedOutputs.of(other, documents), 0.7)
    batch = documents.batch(rows, model.device)
    expected = 0.0
    for row in rows:
        alone = documents.batch(np.array([row]), model.device)
        mine, theirs = model.trace(alone), other.trace(alone)
        shares = [probabilities(t.logits)[0].numpy() for t in (mine, theirs)]
        weights = [t.weights[0][t.mask[0]].numpy() for t in (mine, theirs)]
        tvd = abs(shares[0] - shares[1]).sum() / 2
        if classes == 2:
            assert tvd == pytest.approx(abs(shares[0][1] - shares[1][1]))
        expected += (tvd - 0.7 * jensenshannon(*weights) ** 2) / len(rows)
    noise_free = objective.losses(model(batch)).mean()
    assert noise_free.item() == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    "slot",
    [
        {"encoder": "none", "dropout_embedding": 0.4},
        {"encoder": "conv", "projection": "sparsemax", "grounding": "tying"},
        {"encoder": "conv", "hierarchical": True, "grounding": "mlm", "head": "softmax"},
    ],
)
def test_pieces_of_a_batch_add_up_to_it(
    make_model: Make, encoded: Encode, slot: dict[str, Any]
) -> None:
    model, other = pair(make_model, **slot)
    documents, rows = encoded(model), np.arange(9)
    objective = AdversarialObjective(model, None, 0, CachedOutputs.of(other, documents), 1.0)
    found = []
    for pieces in ([rows], [rows[:4], rows[4:5], rows[5:]]):
        batches = [documents.batch(piece, model.device) for piece in pieces]
        counts = objective.counts(batches, 3)
        model.zero_grad()
        losses = [objective(batch, 3, counts) for batch in batches]
        torch.stack(losses).sum().backward()
        gradients = {n: p.grad.clone() for n, p in model.named_parameters() if p.grad is not None}
        found.append((sum(loss.item() for loss in losses), gradients))
    assert found[0][0] == pytest.approx(found[1][0], abs=1e-10)
    torch.testing.assert_close(found[0][1], found[1][1], rtol=0, atol=1e-10)


def test_grounding_is_added_as_it_is_to_classification(make_model: Make, encoded: Encode) -> None:
    model, other = pair(make_model, encoder="mlp", grounding="tying", strength=3.0)
    documents = encoded(model)
    batch = documents.batch(np.arange(9), model.device)
    objective = AdversarialObjective(model, None, 0, CachedOutputs.of(other, documents), 1.0)
    trace = model(batch)
    whole = objective(batch, 0, objective.counts([batch], 0))
    tying = tying_loss(trace.states, trace.embedded, batch.words) / batch.words.sum()
    torch.testing.assert_close(whole, objective.losses(trace).mean() + 3.0 * tying)
    model, other = pair(make_model, encoder="mlp", grounding="mlm", strength=2.0)
    adversarial = AdversarialObjective(model, None, 0, CachedOutputs.of(other, documents), 1.0)
    plain = Objective(model, None, 0)
    more = [
        o(batch, 5, o.counts([batch], 5)) - o.losses(model(batch)).mean()
        for o in (adversarial, plain)
    ]
    assert more[0].item() > 0.5
    torch.testing.assert_close(*more)


# What is learnt.


@pytest.mark.slow
def test_without_lam_it_learns_to_decide_as_the_base_does(
    planted: verax.Corpus, base: AttentionClassifier
) -> None:
    model = train_adversary(base, planted, 0.0, seed=1, epochs=15, device="cpu")
    assert model.record["adversary"]["validation"]["tvd"] < 0.05
    assert model.record["adversary"]["test"]["tvd"] < 0.05
    assert model.history["tvd"].iloc[0] > 0.2


@pytest.mark.slow
def test_a_larger_lam_goes_further_away(planted: verax.Corpus, base: AttentionClassifier) -> None:
    found = [
        train_adversary(base, planted, lam, seed=1, epochs=12, device="cpu")
        for lam in (0.0, 0.1, 3.0)
    ]
    apart = [model.record["adversary"]["test"]["jsd"] for model in found]
    assert apart[0] + 0.1 < apart[1] < apart[2] - 0.1 < math.log(2)


def test_the_base_is_left_as_it_was_and_the_adversary_is_of_its_kind(
    planted: verax.Corpus, base: AttentionClassifier
) -> None:
    before = {name: value.clone() for name, value in base.state_dict().items()}
    model = train_adversary(base, planted, 1.0, seed=1, **QUICK)
    assert model.options == base.options
    assert model.vocabulary is base.vocabulary
    assert not model.training
    for name, value in base.state_dict().items():
        assert torch.equal(value, before[name])
    settings, of_base = model.record["training"], base.record["training"]
    changed = {name for name in of_base if settings[name] != of_base[name]}
    assert changed == {"epochs", "patience", "metric", "seed"}
    assert (settings["patience"], settings["metric"]) == (10, "loss")


def test_history_and_record_tell_how_it_went(
    planted: verax.Corpus, base: AttentionClassifier, tmp_path: Path
) -> None:
    model = train_adversary(base, planted, 0.5, seed=1, epochs=4, device="cpu")
    history = model.history
    assert list(history.columns) == [
        *("epoch", "train_loss", "tvd", "jsd", "accuracy", "f1", "macro_f1", "roc_auc", "loss"),
        *("lr", "selected"),
    ]
    np.testing.assert_allclose(history["loss"], history["tvd"] - 0.5 * history["jsd"])
    picked = history[history["selected"]].iloc[0]
    assert picked["loss"] == history["loss"].iloc[1:].min()
    told = model.record["adversary"]
    assert (told["lam"], told["base_seed"]) == (0.5, 0)
    assert told["validation"] == {name: picked[name] for name in told["validation"]}
    here = divergences(model, base, planted.validation)
    assert here["tvd"].mean() == pytest.approx(picked["tvd"], abs=1e-6)
    assert here["jsd"].mean() == pytest.approx(picked["jsd"], abs=1e-6)
    there = divergences(model, base, planted.test)
    assert there["jsd"].mean() == pytest.approx(told["test"]["jsd"])
    assert there["correct"].mean() == pytest.approx(model.record["test"]["accuracy"])
    expected = evaluate(model.logits(planted.test), planted.test.labels)
    assert model.record["test"] == pytest.approx(expected)
    model.save(tmp_path / "adversary")
    assert verax.load(tmp_path / "adversary").record == model.record


@pytest.mark.slow
def test_a_seed_fixes_it_and_a_budget_does_not_change_it(
    planted: verax.Corpus, base: AttentionClassifier
) -> None:
    one, again, other = (
        train_adversary(base, planted, 1.0, seed=seed, **QUICK) for seed in (1, 1, 2)
    )
    pieces = train_adversary(base, planted, 1.0, seed=1, max_tokens=100, **QUICK)
    assert one.history.equals(again.history)
    for name, value in one.state_dict().items():
        assert torch.equal(value, again.state_dict()[name])
        torch.testing.assert_close(pieces.state_dict()[name], value, rtol=0, atol=1e-3)
    assert not torch.equal(one.embedding.weight, other.embedding.weight)


@pytest.mark.slow
@pytest.mark.parametrize(
    "slot",
    [
        {"projection": "sparsemax", "head": "softmax"},
        {"encoder": "conv", "grounding": "tying", "strength": 0.5, "projection": "entmax"},
        {"encoder": "mlp", "grounding": "mlm"},
        {"hierarchical": True, "projection": "sparsemax", "class_weight": "balanced"},
    ],
)
def test_any_base_has_an_adversary(planted: verax.Corpus, slot: dict[str, Any]) -> None:
    base = verax.train(planted, epochs=2, **{**SMALL, **slot})
    model = train_adversary(base, planted, 1.0, seed=3, **QUICK)
    numbers = model.history.drop(columns="train_loss")
    assert np.isfinite(numbers.to_numpy(dtype=float)).all()
    assert all(value.isfinite().all() for value in model.state_dict().values())
    assert model.options == base.options
    assert model.record["training"]["class_weight"] == "none"


def test_more_than_two_classes(planted: verax.Corpus) -> None:
    corpus = verax.load_corpus("planted", documents=150, classes=3, length=12, evidence=2)
    base = verax.train(corpus, epochs=2, **SMALL)
    model = train_adversary(base, corpus, 1.0, **QUICK)
    assert model.record["adversary"]["validation"]["f1"] is None
    assert model.record["test"]["f1"] is None
    assert model.record["adversary"]["validation"]["macro_f1"] > 0


def test_options_given_go_before_the_bases(
    planted: verax.Corpus, base: AttentionClassifier
) -> None:
    """Another way to read, too: what is compared is the words, not what stands around them."""
    told = {"encoder": "conv", "boundaries": False, "metric": "accuracy", "lr": 1e-3}
    model = train_adversary(base, planted, 1.0, **told, **QUICK)
    assert model.options.encoder == "conv"
    assert model.options.embedding_size == 12
    assert not model.options.boundaries
    assert model.record["training"]["metric"] == "accuracy"
    assert model.record["training"]["lr"] == 1e-3


def test_word_vectors_are_read_again(planted: verax.Corpus, tmp_path: Path) -> None:
    file = tmp_path / "vectors.txt"
    words = [f"w{i}" for i in range(40)]
    file.write_text("".join(f"{w} {i} 1 0 0.5\n" for i, w in enumerate(words)))
    base = verax.train(
        planted, epochs=1, vectors=str(file), freeze_embeddings=True, encoder="none", device="cpu"
    )
    model = train_adversary(base, planted, 1.0, seed=1, **QUICK)
    assert torch.equal(model.embedding.weight, base.embedding.weight)
    assert model.record["vectors"] == base.record["vectors"]
    file.unlink()
    with raises("file.missing", "vectors"):
        train_adversary(base, planted, 1.0, **QUICK)
    random = train_adversary(base, planted, 1.0, vectors=None, **QUICK)
    assert not torch.equal(random.embedding.weight, base.embedding.weight)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"lam": -0.1}, ("option.out-of-range", "lam")),
        ({"lam": math.nan}, ("option.out-of-range", "lam")),
        ({"lam": "much"}, ("option.wrong-type", "lam", "much")),
        ({"seed": -1}, ("option.out-of-range", "seed")),
        ({"epochz": 3}, ("option.unknown", "epochz")),
        ({"hierarchical": True}, ("option.conflict", "hierarchical")),
        ({"min_df": 2}, ("option.conflict", "min_df")),
        ({"class_weight": "balanced"}, ("option.conflict", "none")),
        ({"encoder": "lstm"}, ("option.unknown-value", "encoder", "lstm")),
        ({"projection": "uniform"}, ("option.conflict", "projection")),
        ({"base": "nowhere"}, ("model.missing",)),
    ],
)
def test_what_cannot_be_is_told(
    planted: verax.Corpus,
    base: AttentionClassifier,
    given: dict[str, Any],
    expected: tuple[str, ...],
) -> None:
    with raises(*expected):
        train_adversary(**{"base": base, "corpus": planted, "lam": 1.0, **QUICK, **given})


def test_uniform_attention_cannot_move(make_model: Make, planted: verax.Corpus) -> None:
    uniform = make_model(encoder="none", projection="uniform")
    with raises("model.unsuitable-base"):
        train_adversary(uniform, planted, 1.0, **QUICK)
    with raises("model.unsuitable-base"):
        train_adversary(uniform, planted, 1.0, projection="softmax", **QUICK)


def test_a_folder_is_as_good_as_a_model(
    planted: verax.Corpus, base: AttentionClassifier, tmp_path: Path
) -> None:
    base.save(tmp_path / "base")
    expected = train_adversary(base, planted, 1.0, seed=1, epochs=1, device="cpu")
    for folder in (tmp_path / "base", str(tmp_path / "base")):
        model = train_adversary(folder, planted, 1.0, seed=1, epochs=1, device="cpu")
        assert model.record == expected.record


def test_another_corpus_is_refused(base: AttentionClassifier, planted: verax.Corpus) -> None:
    corpus = verax.load_corpus("planted", documents=150, classes=3)
    with raises("corpus.unknown-class"):
        train_adversary(base, corpus, 1.0, **QUICK)
    with raises("option.conflict", "tokenizer"):
        train_adversary(base, planted, 1.0, tokenizer="keras", **QUICK)


if torch.cuda.is_available():

    def test_base_and_adversary_may_be_on_two_devices(
        planted: verax.Corpus, base: AttentionClassifier
    ) -> None:
        one, again = (
            train_adversary(base, planted, 1.0, seed=1, epochs=2, device="cuda") for _ in "ab"
        )
        assert one.device.type == "cuda"
        assert base.device.type == "cpu"
        for name, value in one.state_dict().items():
            assert torch.equal(value, again.state_dict()[name])
