"""Dropout falls where it is said to: a model with noise equals one fed values dropped by hand."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from support.internals import EncodedDocuments, Objective
from verax.models import ENCODERS, AttentionClassifier, HashedDropout

Make = Callable[..., AttentionClassifier]
Encode = Callable[[AttentionClassifier], EncodedDocuments]


def setting(model: AttentionClassifier, documents: EncodedDocuments, rows: np.ndarray) -> tuple:
    batch = documents.batch(rows, model.device)
    noise = HashedDropout.of(batch.row_index, batch.tokens.shape[1], 0, 1)
    return batch, model.embedding(batch.tokens), noise


def test_before_the_word_encoder(make_model: Make, encoded: Encode, first_rows: np.ndarray) -> None:
    model = make_model(dropout_embedding=0.5)
    batch, embedded, noise = setting(model, encoded(model), first_rows)
    dropped = noise.dropout(embedded, 0.5, 11)
    assert 0.4 < (dropped[batch.token_mask] == 0).double().mean() < 0.6
    expected = model.encode_words(batch, dropped)
    torch.testing.assert_close(model.encode_words(batch, embedded, noise), expected)
    assert not torch.allclose(model.encode_words(batch, embedded), expected)


def test_a_residual_adds_the_word_itself_not_the_dropped_one(
    make_model: Make, encoded: Encode, first_rows: np.ndarray
) -> None:
    model = make_model(dropout_embedding=0.5, grounding="residual")
    batch, embedded, noise = setting(model, encoded(model), first_rows)
    inside = model.encoder(noise.dropout(embedded, 0.5, 11), batch.token_mask, batch.lengths)
    torch.testing.assert_close(model.encode_words(batch, embedded, noise), inside + embedded)


def test_inside_the_convolution(make_model: Make, encoded: Encode, first_rows: np.ndarray) -> None:
    model = make_model(encoder="conv")
    batch, embedded, noise = setting(model, encoded(model), first_rows)
    dropped = noise.dropout(embedded, 0.3, 101)
    expected = model.encoder(dropped, batch.token_mask, batch.lengths)
    found = model.encoder(embedded, batch.token_mask, batch.lengths, noise)
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("encoder", ["bilstm", "none"])
def test_before_the_sentence_encoder(
    encoder: str, make_model: Make, encoded: Encode, first_rows: np.ndarray
) -> None:
    model = make_model(encoder=encoder, hierarchical=True, dropout_sentence=0.5)
    batch, embedded, noise = setting(model, encoded(model), first_rows)
    seen = []
    handle = model.sentence_encoder.register_forward_pre_hook(  # type: ignore[union-attr, operator]
        lambda module, inputs: seen.append(inputs[0])
    )
    model.encode(batch, embedded)
    model.encode(batch, embedded, noise)
    handle.remove()
    plain, dropped = seen
    expected = noise.columns(plain.shape[1]).dropout(plain, 0.5, 12)
    torch.testing.assert_close(dropped, expected)
    assert (dropped[batch.mask] == 0).any()


def test_a_transformer_drops_in_every_layer(
    make_model: Make, encoded: Encode, first_rows: np.ndarray
) -> None:
    model = make_model(encoder="transformer")
    batch, embedded, noise = setting(model, encoded(model), first_rows)
    quiet = model.encoder(embedded, batch.token_mask, batch.lengths)
    loud = model.encoder(embedded, batch.token_mask, batch.lengths, noise)
    assert not torch.allclose(quiet, loud, atol=1e-3)
    for layer in model.encoder.layers:  # type: ignore[union-attr]
        inside = layer(embedded, batch.token_mask, None)
        assert not torch.allclose(inside, layer(embedded, batch.token_mask, noise), atol=1e-3)


def test_the_masked_reading_drops_other_units(
    make_model: Make, encoded: Encode, first_rows: np.ndarray
) -> None:
    model = make_model(grounding="mlm", dropout_embedding=0.5)
    batch, _, noise = setting(model, encoded(model), first_rows)
    seen = []
    handle = model.encoder.register_forward_pre_hook(lambda m, inputs: seen.append(inputs[0]))
    objective = Objective(model, None, 0)
    model(batch, noise)
    objective.masked_lm(batch, noise)
    handle.remove()
    words = batch.words
    same = ((seen[0][words] == 0) == (seen[1][words] == 0)).double().mean()
    assert 0.4 < same < 0.6


@pytest.mark.parametrize(
    ("word", "sentence", "layers", "inside"),
    [
        ("bigru", "conv", (1, 1), (0.0, 0.3)),
        ("none", "transformer", (1, 2), (0.0, 0.1)),
        ("mlp", "mlp", (1, 1), (0.0, 0.0)),
        ("transformer", "bilstm", (2, 1), (0.1, 0.0)),
    ],
)
def test_each_level_has_its_own_encoders_defaults(
    word: str, sentence: str, layers: tuple, inside: tuple, make_model: Make
) -> None:
    options = make_model(encoder=word, sentence_encoder=sentence, hierarchical=True).options
    assert (options.layers_of(ENCODERS[word]), options.layers_of(ENCODERS[sentence])) == layers
    assert (options.dropout_of(ENCODERS[word]), options.dropout_of(ENCODERS[sentence])) == inside
    assert options.is_random == any(inside)
