"""Importances of the user's own: named, called and checked once for every exam."""

from __future__ import annotations

import re
from collections.abc import Mapping

import torch
from torch import Tensor

from verax.errors import VeraxError
from verax.importance import IMPORTANCES, Importance
from verax.models.classifier import AttentionClassifier
from verax.models.trace import Trace

RESERVED = ("product", "optimum")
"""What the erasure exam calls rankings of its own."""


def named(importances: Mapping[str, Importance]) -> dict[str, Importance]:
    """Importances by name, each name fit for a table and not taken."""
    for name, importance in importances.items():
        if name in (*IMPORTANCES, *RESERVED):
            raise VeraxError(f"importance {name!r} is built in: give yours another name")
        if not re.fullmatch(r"[\w.+-]+", str(name)):
            raise VeraxError(f"importance {name!r}: name it with letters, digits, _ . + or -")
        if not callable(importance):
            raise VeraxError(f"importance {name!r} is not a function of (model, trace)")
    return dict(importances)


def ask(name: str, importance: Importance, model: AttentionClassifier, trace: Trace) -> Tensor:
    """What an importance says of a trace, on the trace's device; its shape is yet to be checked."""
    with torch.enable_grad():
        given: object = importance(model, trace)
    if not isinstance(given, torch.Tensor):
        kind = type(given).__name__
        raise VeraxError(f"importance {name!r} gave a {kind}, expected a tensor")
    return given.detach().to(trace.mask.device)


def sum_by_item(scores: Tensor, trace: Trace) -> Tensor:
    """(batch, tokens) scores of words → (batch, items), each item the sum of its words.

    In a flat model an item is a word, and SOS and EOS are none.
    """
    if trace.batch.layout is None:
        return scores
    items = torch.arange(trace.mask.shape[1], device=scores.device)
    belongs = trace.item_of_token.unsqueeze(-1) == items
    # a product adds up in one order; scattering on a GPU does not
    return (scores.unsqueeze(1) @ belongs.to(scores.dtype)).squeeze(1)
