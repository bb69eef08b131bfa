"""The objective term by term, against torch's own losses and sums written out."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from sklearn.utils.class_weight import compute_class_weight
from torch.nn import functional

from support.internals import PRIVATE_MASKING, EncodedDocuments, Objective, balanced_weights
from verax.models import AttentionClassifier

Make = Callable[..., AttentionClassifier]
Encode = Callable[[AttentionClassifier], EncodedDocuments]


@pytest.mark.parametrize("head", ["sigmoid", "softmax"])
def test_classification_is_the_mean_cross_entropy(
    head: str, make_model: Make, encoded: Encode, first_rows: np.ndarray
) -> None:
    model = make_model(head=head)
    batch = encoded(model).batch(first_rows, model.device)
    objective = Objective(model, None, 0)
    trace = model(batch)
    assert batch.labels is not None
    if head == "sigmoid":
        expected = functional.binary_cross_entropy_with_logits(
            trace.logits[:, 0], batch.labels.float()
        )
    else:
        expected = functional.cross_entropy(trace.logits, batch.labels)
    found = objective(batch, 0, objective.counts([batch], 0))
    torch.testing.assert_close(found, expected)


def test_positive_weight_is_jain_and_wallaces(
    make_model: Make, encoded: Encode, first_rows: np.ndarray
) -> None:
    model = make_model()
    batch = encoded(model).batch(first_rows, model.device)
    weights = balanced_weights(np.array([0, 0, 0, 1]), 2, one_logit=True)
    objective = Objective(model, weights, 0)
    assert batch.labels is not None
    expected = functional.binary_cross_entropy_with_logits(
        model(batch).logits[:, 0], batch.labels.float(), pos_weight=torch.tensor(3.0)
    )
    torch.testing.assert_close(objective(batch, 0, objective.counts([batch], 0)), expected)


def test_balanced_weights_are_scikit_learns() -> None:
    labels = np.array([0, 0, 1, 2, 2, 2, 2])
    expected = compute_class_weight("balanced", classes=np.arange(3), y=labels)
    assert balanced_weights(labels, 3, one_logit=False).tolist() == pytest.approx(expected.tolist())


def test_tying_adds_delta_times_the_mean_over_words(
    make_model: Make, encoded: Encode, first_rows: np.ndarray
) -> None:
    """The mean runs over the words of the whole batch; SOS, EOS and padding have no part in it."""
    model, plain = make_model(grounding="tying", strength=7.0), make_model()
    plain.load_state_dict(model.state_dict())
    batch = encoded(model).batch(first_rows, model.device)
    trace = model(batch)
    total, count = 0.0, 0
    for row in range(len(first_rows)):
        for place in range(int(batch.lengths[row]))[1:-1]:
            total += (trace.states[row, place] - trace.embedded[row, place]).square().sum().item()
            count += 1
    losses = []
    for m in (model, plain):
        objective = Objective(m, None, 0)
        losses.append(objective(batch, 0, objective.counts([batch], 0)).item())
    assert losses[0] - losses[1] == pytest.approx(7.0 * total / count, rel=1e-4)


def test_masked_lm_adds_eta_times_the_mean_over_selected_words(
    make_model: Make, encoded: Encode, first_rows: np.ndarray
) -> None:
    model = make_model(grounding="mlm", strength=2.0, mask_probability=0.5)
    batch = encoded(model).batch(first_rows, model.device)
    objective = Objective(model, None, 0)
    noise = objective.noise(batch, 3)
    masking = getattr(objective, PRIVATE_MASKING)(batch, noise)
    embedded = model.embedding(masking.tokens).clone()
    assert model.mask_vector is not None
    embedded[masking.masked] = model.mask_vector
    states = model.encode_words(batch, embedded)[masking.selected]
    targets = batch.tokens[masking.selected]
    scores = states @ model.embedding.weight[1:].T
    expected = functional.cross_entropy(scores, targets - 1)
    found = objective(batch, 3, objective.counts([batch], 3))
    clean = objective.losses(model(batch)).mean()
    torch.testing.assert_close(found - clean, 2.0 * expected, rtol=1e-4, atol=1e-5)


def test_masked_words_change_from_step_to_step(
    make_model: Make, encoded: Encode, first_rows: np.ndarray
) -> None:
    model = make_model(grounding="mlm")
    batch = encoded(model).batch(first_rows, model.device)
    objective = Objective(model, None, 0)
    mask = getattr(objective, PRIVATE_MASKING)
    selected = [mask(batch, objective.noise(batch, step)).selected for step in (0, 0, 1)]
    assert selected[0].equal(selected[1])
    assert not selected[0].equal(selected[2])
