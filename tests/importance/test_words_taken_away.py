"""Sets of words taken away by each operator, held against texts that are written by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import verax
from support.errors import raises
from support.internals import affine_states
from verax.importance import logits_without_sets

ENCODERS = ["none", "mlp", "conv", "bilstm", "transformer"]
TEXTS = ["w1 w2 w3 w4 w5 w6", "w7 w8", "w3 w1 w9 w2"]


def some_sets(words: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Each text with random sets of its words, none and all of them among these."""
    generator = torch.Generator().manual_seed(0)
    rows = torch.arange(len(words)).repeat(8)
    removed = (torch.rand(len(rows), words.shape[1], generator=generator) < 0.4) & words[rows]
    removed[0], removed[1] = False, words[1]
    return rows, removed


@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize("options", [{}, {"boundaries": True}])
def test_what_is_deleted_or_masked_is_read_as_such_a_text(
    encoder: str, options: dict[str, Any], make_model: Callable[..., Any]
) -> None:
    model = make_model(encoder=encoder, **options)
    trace = model.trace(TEXTS)
    rows, removed = some_sets(trace.batch.words)
    first = int(model.boundaries)
    deleted, masked = [], []
    for row, gone in zip(rows.tolist(), removed, strict=True):
        pairs = list(zip(TEXTS[row].split(), gone[first:].tolist(), strict=False))
        deleted.append([word for word, out in pairs if not out])
        masked.append(["nobody-knows-it" if out else word for word, out in pairs])
    bias = model.head.bias.detach()
    expected = torch.stack([model.logits([t])[0] if t else bias for t in deleted])
    found = logits_without_sets(model, trace, rows, removed, 12)
    assert torch.allclose(found, expected, atol=1e-5)
    found = logits_without_sets(model, trace, rows, removed, 12, "mask")
    assert torch.allclose(found, model.logits(masked), atol=1e-5)


@pytest.mark.parametrize("projection", ["softmax", "sparsemax"])
def test_what_is_not_attended_is_erased_as_in_the_erasure_exam(
    projection: str, make_model: Callable[..., Any]
) -> None:
    model = make_model(encoder="bilstm", projection=projection)
    trace = model.trace(TEXTS)
    rows, removed = some_sets(trace.batch.words)
    found = logits_without_sets(model, trace, rows, removed, operator="attention")
    states = affine_states(trace)
    for row in range(len(TEXTS)):
        expected = states.after(removed[rows == row].expand(len(TEXTS), -1, -1))[row]
        one = found[rows == row]
        two = torch.cat([torch.zeros_like(one), one], -1) if one.shape[-1] == 1 else one
        assert torch.allclose(two, expected, atol=1e-12)
    model.head = torch.nn.Sequential(model.head, torch.nn.Tanh())
    bent = logits_without_sets(model, model.trace(TEXTS), rows, removed, operator="attention")
    assert torch.allclose(bent, found.tanh(), atol=1e-5)


def test_sentences_are_masked_and_not_unattended(make_model: Callable[..., Any]) -> None:
    model = make_model(encoder="conv", hierarchical=True)
    trace = model.trace(["w1 w2 . w3 w4 .", "w5 w6 ."])
    removed = torch.zeros(1, trace.batch.words.shape[1], dtype=torch.bool)
    removed[0, 1] = True
    found = logits_without_sets(model, trace, torch.tensor([0]), removed, operator="mask")
    assert torch.allclose(found, model.logits(["w1 unheard-of . w3 w4 ."]), atol=1e-6)
    with raises("option.unknown-value", "attention"):
        logits_without_sets(model, trace, torch.tensor([0]), removed, operator="attention")


def test_a_function_masks_where_it_has_a_mask() -> None:
    asked: list[str] = []

    def function(texts: list[str]) -> Any:
        asked.extend(texts)
        share = np.array([text.count("#") / 9 for text in texts])
        return np.stack([1 - share, share], axis=1)

    model = verax.from_predict(function, ["a", "b"], mask="#")
    assert model.operators == ("delete", "mask")
    trace = model.trace(["one two, three."])
    removed = torch.tensor([[True, False, True, False, True]])
    logits_without_sets(model, trace, torch.tensor([0]), removed, operator="mask")
    assert asked[-1] == "# two# three#"
    assert verax.from_predict(function, ["a", "b"]).operators == ("delete",)
    with raises("option.wrong-type", "mask", " "):
        verax.from_predict(function, ["a", "b"], mask=" ")
