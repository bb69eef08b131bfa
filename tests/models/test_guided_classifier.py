"""A model under another's attention: what is the guide's, and what is its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from support.errors import raises
from support.internals import EncodedDocuments
from verax.corpora import Vocabulary
from verax.functional import pool
from verax.importance import gradient, integrated_gradients, known_names, leave_one_out
from verax.models import AttentionClassifier, GuidedClassifier, ModelOptions, probabilities

Make = Callable[..., AttentionClassifier]
Encode = Callable[[AttentionClassifier], EncodedDocuments]


def under(guide: AttentionClassifier, **options: Any) -> GuidedClassifier:
    given = {"encoder": "mlp", "hidden_size": 7, "embedding_size": 12, **options}
    resolved = ModelOptions(**given).resolved(len(guide.classes))
    torch.manual_seed(3)
    model = GuidedClassifier(
        resolved, guide.vocabulary, guide.classes, guide.word_tokenizer, guide=guide
    )
    return model.eval()


def test_weights_and_scores_are_the_guides_and_all_else_its_own(
    make_model: Make, encoded: Encode
) -> None:
    guide = make_model(3, projection="sparsemax")
    model = under(guide)
    batch = encoded(guide).batch(np.arange(9), model.device)
    trace, theirs = model(batch), guide.trace(batch)
    assert torch.equal(trace.weights, theirs.weights)
    assert torch.equal(trace.scores, theirs.scores)
    embedded = model.embedding(batch.tokens)
    items = torch.tanh(embedded @ model.encoder.linear.weight.T + model.encoder.linear.bias)
    items = items * batch.token_mask.unsqueeze(-1)
    torch.testing.assert_close(trace.items, items)
    torch.testing.assert_close(trace.logits, model.head(pool(theirs.weights, items)))


def test_training_it_moves_neither_the_guide_nor_attention(
    make_model: Make, encoded: Encode
) -> None:
    guide = make_model()
    model = under(guide).train()
    model(encoded(guide).batch(np.arange(9), model.device)).logits.sum().backward()
    assert all(p.grad is None for p in model.attention.parameters())
    assert all(p.grad is None for p in model.guide.parameters())
    assert model.embedding.weight.grad is not None
    assert model.head.linear.weight.grad is not None


def test_the_guide_is_no_part_of_its_state_and_cannot_change_under_it(
    make_model: Make, encoded: Encode
) -> None:
    guide = make_model(encoder="conv")
    model = under(guide)
    plain = AttentionClassifier(
        model.options, model.vocabulary, model.classes, model.word_tokenizer
    )
    assert list(model.state_dict()) == list(plain.state_dict())
    assert len(list(model.modules())) == len(list(plain.modules()))
    batch = encoded(guide).batch(np.arange(5), model.device)
    before = model(batch).weights
    with torch.no_grad():
        for parameter in guide.parameters():
            parameter += 1
    assert torch.equal(model(batch).weights, before)
    assert model.guide.vocabulary is guide.vocabulary


def test_the_guide_follows_it(make_model: Make) -> None:
    model = under(make_model(encoder="conv"))
    assert model.double() is model
    assert model.guide.embedding.weight.dtype == torch.float64
    assert model.trace(["w1 w2"]).logits.dtype == torch.float64


@pytest.mark.parametrize("encoder", ["mlp", "none", "conv", "bilstm"])
def test_leave_one_out_has_the_guide_read_again(make_model: Make, encoder: str) -> None:
    """A deleted word changes where the guide looks, so that no short way will do."""
    model = under(make_model(), encoder=encoder, hidden_size=12)
    text = ["w1", "w2", "good0_3", "w4", "."]
    trace = model.trace([text])
    found = leave_one_out(model, trace)[0, 1:-1]
    whole = probabilities(trace.logits.double())[0]
    for place in range(len(text)):
        rest = model.trace([text[:place] + text[place + 1 :]])
        lost = whole.max() - probabilities(rest.logits.double())[0, whole.argmax()]
        assert found[place].item() == pytest.approx(abs(lost.item()), abs=1e-6)


def test_gradients_take_its_attention_for_given(make_model: Make, encoded: Encode) -> None:
    """Weights do not move with its word vectors: through all of it and through values alone are
    the same."""
    model = under(make_model(projection="sparsemax"))
    batch = encoded(model).batch(np.arange(4), model.device)
    for on in ("inputs", "items"):
        for score in (gradient, integrated_gradients):
            through = [score(model, batch, on, through=t) for t in ("all", "values")]
            torch.testing.assert_close(*through, rtol=1e-4, atol=1e-9)
            assert through[0].abs().sum() > 0


def test_every_importance_can_be_asked(make_model: Make) -> None:
    model = under(make_model(encoder="conv"))
    names = known_names("inputs")
    found = model.explain(["w1 w2 good0_3", "w4"], by=names)
    assert found.notna().all().all()


def test_it_cannot_be_saved(make_model: Make, tmp_path: Path) -> None:
    with raises("model.not-saveable"):
        under(make_model(encoder="none")).save(tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_a_guide_that_reads_otherwise_is_refused(make_model: Make) -> None:
    guide = make_model(encoder="none")
    with raises("model.unsuitable-guide"):
        under(make_model(encoder="none", hierarchical=True))
    with raises("model.unsuitable-guide"):
        under(guide, boundaries=False)
    options, words = under(guide).options, Vocabulary(guide.vocabulary.words[:-1])
    with raises("model.unsuitable-guide"):
        GuidedClassifier(options, words, guide.classes, guide.word_tokenizer, guide=guide)
    other = replace(guide.word_tokenizer, lowercase=not guide.word_tokenizer.lowercase)
    with raises("model.unsuitable-guide"):
        GuidedClassifier(options, guide.vocabulary, guide.classes, other, guide=guide)


def test_projection_and_its_numbers_are_the_guides(make_model: Make) -> None:
    for given in ({"projection": "entmax", "alpha": 1.7}, {"projection": "sparsegen", "lam": -2.0}):
        model = under(make_model(**given))
        assert {name: getattr(model.options, name) for name in given} == given


def test_the_guide_is_read_as_it_is_when_finished(make_model: Make) -> None:
    guide = make_model().train()
    assert not under(guide).guide.training
    assert guide.training


def test_a_guided_model_attends_words(make_model: Make) -> None:
    with raises("model.unsuitable-guide"):
        under(make_model(boundaries=False), hierarchical=True)
