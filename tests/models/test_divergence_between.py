"""Two models side by side, against SciPy and sums written out, a document at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from scipy.spatial.distance import jensenshannon

import verax
from support.errors import raises
from verax.corpora import Vocabulary
from verax.models import AttentionClassifier, probabilities
from verax.training import divergences

Make = Callable[..., AttentionClassifier]


def shaken(model: AttentionClassifier, seed: int) -> AttentionClassifier:
    """The model with other weights, large enough for attention and decisions to be uneven."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += torch.randn(parameter.shape, generator=generator)
    return model


@pytest.mark.parametrize(
    ("classes", "slot"),
    [
        (2, {"encoder": "none"}),
        (2, {"encoder": "conv", "projection": "sparsemax", "head": "softmax"}),
        (3, {"encoder": "mlp"}),
        (2, {"encoder": "none", "hierarchical": True}),
    ],
)
def test_every_document_by_itself(
    make_model: Make, planted: verax.Corpus, classes: int, slot: dict[str, Any]
) -> None:
    a, b = (shaken(make_model(classes, **slot).double(), seed) for seed in (1, 2))
    documents = planted.test
    found = divergences(a, b, documents, max_tokens=200)
    assert found["id"].tolist() == documents.ids.tolist()
    assert 0 < found["same"].mean() < 1
    encoded = a.encode(documents)
    for row in range(0, len(documents), 3):
        batch = encoded.batch(np.array([row]), a.device)
        one, two = a.trace(batch), b.trace(batch)
        mask = one.mask[0]
        p, q = (t.weights[0][mask].double().numpy() for t in (one, two))
        shares = [probabilities(t.logits.double())[0].numpy() for t in (one, two)]
        told = found.iloc[row]
        assert told["jsd"] == pytest.approx(jensenshannon(p, q) ** 2, abs=1e-12)
        assert told["tvd"] == pytest.approx(np.abs(shares[0] - shares[1]).sum() / 2, abs=1e-12)
        decided = [int(s.argmax()) for s in shares]
        assert told["same"] == (decided[0] == decided[1])
        assert told["decision"] == decided[0]
        assert told["label"] == documents.labels[row]
        assert told["correct"] == (decided[0] == documents.labels[row])
        assert told["max_weight"] == pytest.approx(q.max(), abs=1e-12)
        assert told["items"] == int(mask.sum())


def test_a_model_is_not_apart_from_itself(make_model: Make, planted: verax.Corpus) -> None:
    model = make_model(encoder="conv")
    found = divergences(model, model, model.encode(planted.test))
    assert found["jsd"].abs().max() < 1e-12
    assert found["tvd"].max() == 0
    assert found["same"].all()


def test_texts_have_no_labels(make_model: Make) -> None:
    a, b = (shaken(make_model(encoder="none"), seed) for seed in (1, 2))
    found = divergences(a, b, ["w1 w2 good0_3", "w4"])
    assert found["label"].isna().all()
    assert found["correct"].isna().all()
    assert found["items"].tolist() == [3, 1]
    assert found["jsd"].tolist()[1] == pytest.approx(0, abs=1e-12)


def test_models_that_read_in_another_way_attend_the_same_words(
    make_model: Make, planted: verax.Corpus
) -> None:
    """Encoder none sees no SOS and EOS, so that these two are one model."""
    around, bare = (make_model(encoder="none", boundaries=b) for b in (True, False))
    bare.load_state_dict(around.state_dict())
    found = divergences(around, bare, planted.test)
    assert found["jsd"].abs().max() < 1e-9
    with raises("model.incomparable"):
        divergences(around, bare, around.encode(planted.test))


def test_what_cannot_be_compared_is_refused(make_model: Make, planted: verax.Corpus) -> None:
    flat = make_model(encoder="none")
    with raises("model.incomparable"):
        divergences(flat, make_model(encoder="none", hierarchical=True), planted.test)
    with raises("model.incomparable"):
        divergences(flat, make_model(3, encoder="none"), planted.test)
    other = make_model(encoder="none")
    other.word_tokenizer = replace(
        other.word_tokenizer, lowercase=not other.word_tokenizer.lowercase
    )
    with raises("corpus.tokenizer-mismatch"):
        divergences(flat, other, planted.test)


def test_what_is_encoded_must_fit_both(make_model: Make, planted: verax.Corpus) -> None:
    a, b = make_model(), make_model()
    other = AttentionClassifier(
        b.options, Vocabulary(list(b.vocabulary.words)[::-1]), b.classes, b.word_tokenizer
    )
    with raises("model.incomparable"):
        divergences(a, other.eval(), a.encode(planted.test))
