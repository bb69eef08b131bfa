"""The optimiser's shortcuts against torch's own clipping and a dense gradient."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import verax
from support.internals import EncodedDocuments, Objective, Optimizer
from support.internals import training_loop as room
from verax.models import AttentionClassifier
from verax.training import TrainingOptions

Make = Callable[..., AttentionClassifier]
Encode = Callable[[AttentionClassifier], EncodedDocuments]


def gradients(
    model: AttentionClassifier, encoded: EncodedDocuments, optimiser: Optimizer | None = None
) -> None:
    objective = Objective(model, None, 0)
    pieces = [encoded.batch(np.arange(n, n + 6), model.device) for n in (0, 3)]
    counts = objective.counts(pieces, 0)
    if optimiser is not None:
        optimiser.zero()
    for piece in pieces:
        objective(piece, 0, counts).backward()


@pytest.mark.parametrize("limit", [1e-3, 1e3])
@pytest.mark.parametrize("grounding", ["none", "mlm"])
def test_clipping_is_torchs_own(
    limit: float, grounding: str, make_model: Make, encoded: Encode
) -> None:
    """Two overlapping batches, so that rows of the embedding come more than once."""
    ours, theirs = make_model(grounding=grounding), make_model(grounding=grounding)
    optimiser = Optimizer(ours, TrainingOptions(clip=limit, lr=1e-3))
    for _ in range(2):  # the second time over a used buffer
        gradients(ours, encoded(ours), optimiser)
        assert ours.embedding.weight.grad is not None
        assert ours.embedding.weight.grad.is_sparse == (grounding == "none")
        optimiser.adam.param_groups[0]["lr"] = optimiser.adam.param_groups[1]["lr"] = 0.0
        optimiser.step()
    gradients(theirs, encoded(theirs))
    nn.utils.clip_grad_norm_(theirs.parameters(), limit)
    for (name, p), q in zip(ours.named_parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(p.grad, q.grad, msg=name)


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"clip": None}, {"hierarchical": True, "max_tokens": 60}])
def test_rows_alone_train_as_the_dense_gradient_does(
    options: dict[str, Any], planted: verax.Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Eight steps, each of which leaves rows alone."""
    sizes: dict[str, Any] = {"hidden_size": 12, "embedding_size": 12, "epochs": 2, "batch_size": 16}
    parts = {"train": 64, "validation": 12, "test": 12}
    few = replace(planted, **{n: planted.splits[n].take(np.arange(k)) for n, k in parts.items()})
    rows = verax.train(few, **sizes, **options)
    monkeypatch.setattr(room, "has_sparse_gradient", lambda model: False)
    dense = verax.train(few, **sizes, **options)
    for name, value in rows.state_dict().items():
        torch.testing.assert_close(dense.state_dict()[name], value, atol=1e-4, rtol=0, msg=name)


def test_attention_is_exempt_from_decay_unless_told_otherwise(make_model: Make) -> None:
    model = make_model(hierarchical=True)
    free = {id(p) for n, p in model.named_parameters() if "attention" in n}
    for exempt in (True, False):
        groups = Optimizer(model, TrainingOptions(decay_attention=not exempt)).adam.param_groups
        spared = {id(p) for g in groups if g["weight_decay"] == 0 for p in g["params"]}
        assert spared == (free if exempt else set())


def test_training_leaves_no_gradients_behind(planted: verax.Corpus) -> None:
    model = verax.train(planted, hidden_size=12, embedding_size=12, epochs=1)
    assert all(p.grad is None for p in model.parameters())
    model(model.encode(["w1 w2"]).batch(np.array([0]), model.device)).logits.sum().backward()
    assert model.embedding.weight.grad is not None
    assert not model.embedding.weight.grad.is_sparse


@pytest.mark.parametrize("amsgrad", [False, True])
def test_steps_are_those_of_torchs_own_adam(amsgrad: bool, make_model: Make) -> None:
    ours, theirs = make_model(), make_model()
    options = TrainingOptions(lr=0.1, amsgrad=amsgrad, weight_decay=0.01)
    adam = room.make_adam(ours, options)
    plain = torch.optim.Adam(
        [
            {**group, "params": [dict(theirs.named_parameters())[name] for name in names]}
            for group, names in zip(adam.param_groups, parameter_names(ours, adam), strict=True)
        ]
    )
    for step in range(3):
        for model, one in ((ours, adam), (theirs, plain)):
            for i, p in enumerate(model.parameters()):
                p.grad = torch.full_like(p, 0.1 * step - 0.01 * i)
            one.step()
    for (name, p), q in zip(ours.named_parameters(), theirs.parameters(), strict=True):
        assert torch.equal(p, q), name
        assert p.requires_grad


def parameter_names(model: AttentionClassifier, adam: torch.optim.Adam) -> list[list[str]]:
    names = {id(p): name for name, p in model.named_parameters()}
    return [[names[id(p)] for p in group["params"]] for group in adam.param_groups]
