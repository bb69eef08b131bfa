"""The yardstick: models that differ only by seed, every two of them."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.spatial.distance import jensenshannon

import verax
from support.documents import tokens_of
from support.errors import raises
from verax.studies import seed_variance
from verax.studies.adversary_scores import model_entry, seeds_of
from verax.training import train_adversary

TINY: dict[str, Any] = {"encoder": "none", "embedding_size": 8, "epochs": 2, "device": "cpu"}


@pytest.fixture(scope="module")
def corpus() -> verax.Corpus:
    return verax.load_corpus("planted", documents=60, length=12)


@pytest.fixture(scope="module")
def models(corpus: verax.Corpus) -> list[verax.AttentionClassifier]:
    return [verax.train(corpus, seed=seed, lr=0.05, **TINY) for seed in (4, 0, 7)]


def test_every_pair_and_document_is_scipys(
    corpus: verax.Corpus, models: list[verax.AttentionClassifier]
) -> None:
    found = seed_variance(models, corpus)
    expected = []
    for (a, first), (b, second) in combinations(zip((4, 0, 7), models, strict=True), 2):
        for row, text in enumerate(tokens_of(corpus.test)):
            one, other = (model.trace([text]) for model in (first, second))
            p, q = (t.weights[t.mask].double().numpy() for t in (one, other))
            chances = [torch.sigmoid(t.logits.double()).item() for t in (one, other)]
            decided = [int(chance > 0.5) for chance in chances]
            label = int(corpus.test.labels[row])
            expected.append(
                {
                    "first": a,
                    "second": b,
                    "id": int(corpus.test.ids[row]),
                    "jsd": jensenshannon(p, q) ** 2,
                    "tvd": abs(chances[0] - chances[1]),
                    "same": decided[0] == decided[1],
                    "correct": decided[1] == label,
                    "label": label,
                    "decision": decided[1],
                    "max_weight": p.max(),
                    "items": len(p),
                }
            )
    table = pd.DataFrame(expected)
    assert table["jsd"].max() > 0.01
    pd.testing.assert_frame_equal(found, table, check_dtype=False, rtol=1e-4, atol=1e-6)


def test_folders_their_own_corpus_and_another_split(
    corpus: verax.Corpus, models: list[verax.AttentionClassifier], tmp_path: Path
) -> None:
    for number, model in enumerate(models[:2]):
        model.save(tmp_path / str(number))
    folders = [tmp_path / "0", str(tmp_path / "1")]
    found = seed_variance(folders, split="validation", device="cpu", max_tokens=50)
    expected = seed_variance(models[:2], corpus, "validation")
    pd.testing.assert_frame_equal(found, expected, rtol=1e-5)
    named = seed_variance(folders, corpus, split="validation", device="cpu")
    pd.testing.assert_frame_equal(named, expected)


def test_models_that_tell_nothing_are_called_by_their_places(
    corpus: verax.Corpus, make_model: Any, planted: verax.Corpus
) -> None:
    found = seed_variance([make_model(), make_model()], planted)
    assert set(zip(found["first"], found["second"], strict=True)) == {(0, 1)}
    assert np.abs(found["jsd"]).max() < 1e-12
    with raises("model.incomparable"):
        seed_variance([make_model(), make_model(encoder="conv")], planted)


def test_a_seed_that_is_not_known_is_no_one_elses(
    corpus: verax.Corpus, models: list[verax.AttentionClassifier]
) -> None:
    entries = [model_entry(model, "one") for model in models]  # with seeds 4, 0 and 7
    unknown = replace(entries[0], record={})
    assert seeds_of([unknown, *entries[1:]]) == [1, 0, 7]
    assert seeds_of([entries[1], unknown, unknown], taken=[1]) == [0, 2, 3]


def test_what_differs_is_named(
    corpus: verax.Corpus, models: list[verax.AttentionClassifier], tmp_path: Path
) -> None:
    sparse = verax.train(corpus, seed=1, lr=0.05, **{**TINY, "projection": "sparsemax"})
    with raises("model.incomparable", "model 1", "model 3", "projection", "softmax", "sparsemax"):
        seed_variance([*models[:2], sparse], corpus)
    longer = verax.train(corpus, seed=1, lr=0.05, **{**TINY, "epochs": 3})
    longer.save(tmp_path / "longer")
    with raises("model.incomparable"):
        seed_variance([models[0], tmp_path / "longer"], corpus)
    other = verax.load_corpus("planted", documents=60, length=12, seed=1)
    elsewhere = verax.train(other, seed=1, lr=0.05, **TINY)
    with raises("model.incomparable"):
        seed_variance([models[0], elsewhere], corpus)
    adversaries = [
        train_adversary(models[0], corpus, lam, seed=seed, epochs=1, device="cpu")
        for lam, seed in ((0.1, 1), (0.1, 2), (1.0, 3))
    ]
    assert len(seed_variance(adversaries[:2], corpus)) == len(corpus.test)
    with raises("model.incomparable", "0.1", "1.0"):
        seed_variance(adversaries, corpus)


def test_one_model_twice_is_no_variance(
    corpus: verax.Corpus, models: list[verax.AttentionClassifier]
) -> None:
    with raises("option.duplicate"):
        seed_variance([models[0], models[1], models[1]], corpus)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"models": []}, ("result.too-few",)),
        ({"models": "folder"}, ("option.wrong-type", "models")),
        ({"models": ["nowhere", "neither"]}, ("model.missing",)),
        ({"split": "tset"}, ("option.unknown-value", "tset", "test")),
        ({"max_tokens": 0}, ("option.out-of-range", "max_tokens")),
    ],
)
def test_bad_input_is_one_line(
    corpus: verax.Corpus,
    models: list[verax.AttentionClassifier],
    given: dict[str, Any],
    expected: tuple[str, ...],
) -> None:
    with raises(*expected) as error:
        seed_variance(**{"models": models, "corpus": corpus, **given})
    assert "\n" not in str(error.value)


def test_verdicts_and_other_corpora_are_refused(
    corpus: verax.Corpus, models: list[verax.AttentionClassifier]
) -> None:
    verdict = verax.Verdict({}, {})
    with raises("result.wrong-kind"):
        seed_variance([verdict, models[0]], corpus)  # type: ignore[list-item]
    with raises("corpus.unknown-class"):
        seed_variance(models, verax.load_corpus("planted", documents=60, classes=3))
