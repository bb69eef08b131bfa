"""What is recorded against a trace of each document by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from support.internals import CachedOutputs, EncodedDocuments, Ragged
from verax.models import AttentionClassifier, probabilities

Make = Callable[..., AttentionClassifier]
Encode = Callable[[AttentionClassifier], EncodedDocuments]
SLOTS: list[tuple[int, dict[str, Any]]] = [
    (2, {}),
    (2, {"boundaries": False, "head": "softmax", "projection": "sparsemax"}),
    (3, {"encoder": "conv"}),
    (3, {"encoder": "none", "hierarchical": True}),
]


@pytest.mark.slow
@pytest.mark.parametrize(("classes", "slot"), SLOTS)
@pytest.mark.parametrize("max_tokens", [16_384, 100])
def test_a_batch_finds_what_each_of_its_documents_was_given(
    make_model: Make, encoded: Encode, classes: int, slot: dict[str, Any], max_tokens: int
) -> None:
    model = make_model(classes, **slot)
    documents = encoded(model)
    recorded = CachedOutputs.of(model, documents, max_tokens)
    rows = np.array([17, 3, 40, 4, 99])
    batch = documents.batch(rows, model.device)
    weights, shares = recorded.weights(batch), recorded.probabilities(batch)
    assert len(recorded) == len(documents)
    assert weights.shape == batch.mask.shape
    assert (weights[~batch.mask] == 0).all()
    for place, row in enumerate(rows):
        alone = model.trace(documents.batch(np.array([row]), model.device))
        expected = alone.weights[alone.mask]
        torch.testing.assert_close(weights[place][batch.mask[place]], expected)
        torch.testing.assert_close(shares[place], probabilities(alone.logits)[0])
        torch.testing.assert_close(recorded.logits(batch)[place], alone.logits[0])
        assert recorded.items[row] == len(expected)


def test_another_reading_of_the_same_documents_finds_the_same_items(
    make_model: Make, encoded: Encode
) -> None:
    """SOS and EOS stand around the words of one and not of the other; neither is attended."""
    model, other = make_model(boundaries=True), make_model(boundaries=False)
    recorded = CachedOutputs.of(model, encoded(model))
    rows = np.array([5, 2, 30])
    around, bare = (encoded(m).batch(rows, m.device) for m in (model, other))
    found = recorded.weights(bare)
    assert found.shape == bare.mask.shape
    assert torch.equal(found[bare.mask], recorded.weights(around)[around.mask])


def test_a_model_in_double_precision_is_recorded_in_it(make_model: Make, encoded: Encode) -> None:
    model = make_model(encoder="none").double()
    recorded = CachedOutputs.of(model, encoded(model)).to(torch.device("cpu"))
    assert recorded.flat.dtype == recorded.outputs.dtype == torch.float64


def test_nothing_is_recorded_of_no_documents(make_model: Make) -> None:
    model = make_model(3)
    empty = Ragged.from_lengths(np.zeros(0, np.int64), np.zeros(0, np.int64))
    recorded = CachedOutputs.of(model, EncodedDocuments(empty, None, np.zeros(0, np.int64), True))
    assert len(recorded) == 0
    assert recorded.outputs.shape == (0, 3)
