"""The hierarchical classifier against the flat one, and against itself sentence by sentence."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from verax.functional import pool
from verax.models import AttentionClassifier, HierarchicalClassifier

Make = Callable[..., AttentionClassifier]
ONE_SENTENCE = [["w1", "good0_1", "w7"], ["w2", "w3", "w4", "good1_2", "w9", "."], ["w5"]]


@pytest.mark.parametrize("encoder", ["bilstm", "bigru", "conv", "none", "transformer"])
@pytest.mark.parametrize("projection", ["softmax", "sparsemax"])
def test_equals_the_flat_model_on_one_sentence_where_it_must(
    encoder: str, projection: str, make_model: Make
) -> None:
    """With no sentence encoder, one sentence attended alone is the document: HAN = FLAN."""
    options = {"encoder": encoder, "projection": projection, "boundaries": False}
    flat = make_model(**options).double()
    tall = make_model(**options, hierarchical=True, sentence_encoder="none").double()
    shared = flat.state_dict()
    word_attention = {
        name.replace("attention.", "word_attention."): value
        for name, value in shared.items()
        if name.startswith("attention.")
    }
    tall.load_state_dict({**tall.state_dict(), **shared, **word_attention})
    ours, theirs = tall.trace(ONE_SENTENCE), flat.trace(ONE_SENTENCE)
    torch.testing.assert_close(ours.logits, theirs.logits)
    torch.testing.assert_close(ours.states, theirs.states)
    assert ours.weights.tolist() == [[1.0]] * 3


def test_a_document_is_its_sentences_encoded_one_by_one(make_model: Make) -> None:
    """An oracle without layouts: every sentence alone through the word level, then the rest."""
    model = make_model(hierarchical=True, encoder="bigru").double()
    assert isinstance(model, HierarchicalClassifier)
    document = "w1 w2 w3 w4 . w5 . good0_1 w2 w8 w9 w1 w2 w3 w4 w5 w6 ."
    words = document.split()
    ends = [i + 1 for i, w in enumerate(words) if w == "."]
    vectors = []
    for first, last in zip([0, *ends[:-1]], ends, strict=True):
        rows = torch.tensor([[model.vocabulary.rows[w] for w in words[first:last]]])
        ones = torch.ones_like(rows, dtype=torch.bool)
        states = model.encoder(model.embedding(rows), ones, torch.tensor([last - first]))
        _, weights = model.word_attention(states, ones)
        vectors.append(pool(weights, states))
    sentences = torch.stack(vectors, dim=1)
    ones = torch.ones(1, 3, dtype=torch.bool)
    items = model.sentence_encoder(sentences, ones, torch.tensor([3]))
    scores, weights = model.attention(items, ones)
    expected = model.head(pool(weights, items))
    trace = model.trace([words, ["w1", "."]])
    torch.testing.assert_close(trace.logits[:1], expected)
    torch.testing.assert_close(trace.items[:1], items)
    torch.testing.assert_close(trace.scores[:1], scores)
    assert trace.mask.tolist() == [[True, True, True], [True, False, False]]
    assert trace.item_of_token[0].tolist() == [0] * 5 + [1] * 2 + [2] * 11


def test_grounding_acts_on_words(make_model: Make) -> None:
    residual = make_model(hierarchical=True, grounding="residual")
    plain = make_model(hierarchical=True)
    plain.load_state_dict(residual.state_dict())
    texts = [["w1", "w2", "w3"]]
    lifted, bare = residual.trace(texts), plain.trace(texts)
    torch.testing.assert_close(lifted.states, bare.states + bare.embedded)


def test_a_flat_batch_is_refused(make_model: Make) -> None:
    flat, tall = make_model(boundaries=False), make_model(hierarchical=True)
    batch = flat.encode([["w1"]]).batch(np.array([0]), flat.device)
    with pytest.raises(TypeError, match="needs a batch with sentences"):
        tall.trace(batch)
