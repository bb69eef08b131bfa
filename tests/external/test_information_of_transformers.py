"""What is left of words in the states of a Transformer, against a naive reading of the split."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from architectures import make_model

import verax
from support.internals import INFORMATION_HELD, LayerStates, word_types
from verax import TransformerClassifier
from verax.exams import plan
from verax.functional import (
    cluster,
    mutual_information,
    pointwise_information,
    shuffled_information,
)

OPTIONS: dict[str, Any] = {"clusters": 12, "max_words": 20, "shuffles": 2}


@pytest.fixture(scope="module")
def verdict(bert: TransformerClassifier, reviews: verax.Corpus) -> verax.Verdict:
    return verax.examine(bert, reviews, "information", "all", **OPTIONS)


@torch.no_grad()
def naive(model: TransformerClassifier, texts: list[str]) -> tuple[list[Any], list[Any], list[Any]]:
    """The pieces of each word, its states at every layer and its document, text by text."""
    words, states, documents = [], [], []
    for document, text in enumerate(texts):
        trace: Any = model.trace([text])
        ids, of = trace.pieces.input_ids, trace.pieces.word[0]
        output = model.module(ids, output_hidden_states=True)
        for word in range(int(of.max()) + 1):
            words.append(tuple(ids[0][of == word].tolist()))
            states.append([layer[0][of == word].mean(0) for layer in output.hidden_states])
            documents.append(document)
    return words, states, documents


@pytest.mark.slow
def test_every_layer_is_measured_as_its_states_are(
    bert: TransformerClassifier, reviews: verax.Corpus, verdict: verax.Verdict
) -> None:
    """Layer 0 are the embeddings. The twenty most frequent words, their states in one matrix."""
    texts = list(reviews.documents("all").texts)
    words, states, documents = naive(bert, texts)
    order = list(dict.fromkeys(words))
    counts = {word: words.count(word) for word in order}
    kept = sorted(sorted(order, key=lambda word: -counts[word])[:20], key=order.index)
    places = [place for place, word in enumerate(words) if word in kept]
    types = np.array([kept.index(words[place]) for place in places])
    owners = np.array([documents[place] for place in places])
    for layer in range(4):
        vectors = torch.stack([states[place][layer] for place in places])
        labels = cluster(vectors, 12, 0).labels.numpy()
        expected = mutual_information(types, labels)
        found = verdict.number(f"information.layers.{layer}.information")
        assert found.value == pytest.approx(expected.value, abs=1e-9)
        ceiling = verdict.value(f"information.layers.{layer}.word_entropy")
        assert ceiling == pytest.approx(expected.entropy)
        floor = verdict.value(f"information.layers.{layer}.shuffled")
        assert floor == pytest.approx(shuffled_information(types, labels, 0, 2).mean())
        assert found.low < found.value < found.high
    # that the mean over documents is asked about, not over occurrences: a resampling agrees
    random = np.random.default_rng(0)
    draws = [random.integers(0, len(texts), len(texts)) for _ in range(300)]
    by_document = [np.flatnonzero(owners == document) for document in range(len(texts))]
    parts = pointwise_information(types, labels)
    assert parts.mean() == pytest.approx(expected.value)
    means = [parts[np.concatenate([by_document[d] for d in draw])].mean() for draw in draws]
    assert found.high - found.low == pytest.approx(2 * 2.02 * np.std(means), rel=0.15)


def test_the_last_layer_is_what_any_model_has(verdict: verax.Verdict) -> None:
    for column in ("information", "word_entropy", "shuffled", "above_shuffled", "retained"):
        own = verdict.value(f"information.frequent.{column}")
        assert own == verdict.value(f"information.layers.3.{column}")
    words = verdict.tables["information_words"].set_index(["word", "measure"])["value"]
    assert words["the", "count"] == 30
    assert verdict.summary("layers").index[0] == "embeddings"
    assert "States of the last layer keep" in verdict.judgement.rows[0].sentence


def test_words_are_alike_that_are_read_as_the_same_pieces(bert: TransformerClassifier) -> None:
    """In small letters or large; `bads` is another word than `bad`, and `dull`, than both."""
    read = bert.encode(["Bad bads dull", "bad Bads unwatchable"])
    split = word_types(read)
    assert split.types.tolist() == [0, 1, 2, 0, 1, 3]
    assert split.documents.tolist() == [0, 0, 0, 1, 1, 1]
    chosen = LayerStates(split, 2, "frequent", 100, 0)
    assert chosen.words.tolist() == [0, 1, 0, 1]
    assert chosen.chosen.tolist() == [[0, 0], [0, 1]]
    drawn = LayerStates(split, 4, "frequent", 3, 0)
    assert (len(drawn.words), drawn.in_split) == (3, 6)


def test_neither_batches_nor_chance_change_numbers(
    bert: TransformerClassifier, reviews: verax.Corpus, verdict: verax.Verdict
) -> None:
    same, small = (
        verax.examine(bert, reviews, "information", "all", max_tokens=size, **OPTIONS)
        for size in (16_384, 100)
    )
    for name, table in verdict.tables.items():
        pd.testing.assert_frame_equal(same.tables[name], table, check_exact=True)
        pd.testing.assert_frame_equal(small.tables[name], table, rtol=1e-4)


def test_only_what_fits_is_kept(
    bert: TransformerClassifier, reviews: verax.Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forty occurrences of 16 numbers at four layers, of words chosen in two ways."""
    monkeypatch.setattr(INFORMATION_HELD, 40 * 16 * 4 * 4 * 2)
    options = {**OPTIONS, "words_by": "both"}
    verdict = verax.examine(bert, reviews, "information", "all", **options)
    assert verdict.value("information.frequent.occurrences") == 40
    assert verdict.value("information.layers.3@sampled.information") >= 0


def test_an_encoder_and_a_decoder_have_no_one_depth(tokenizer: Any) -> None:
    model = verax.from_transformers(make_model("T5"), tokenizer)
    (planned,) = plan(model, ["information"])
    assert planned.exam is None
    assert "a word has states in the encoder and others in the decoder" in planned.reason
