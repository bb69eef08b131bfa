"""What a proof gives, and what all proofs share: terms of words, with room for rounding."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from verax.corpora.vocabulary import UNK
from verax.models.layers import two_columns
from verax.models.trace import Trace

ROUNDING = 2e-5
"""How far logits of the model may be from those in float64, as a share of 1 + the largest."""
_RANGE = 600.0
"""Scores further apart than this leave a word no weight in float64: nothing is proven then."""


@dataclass(frozen=True, eq=False)
class Proof:
    """What is proven of the smallest sets of some documents.

    lower  (rows,) long: no smaller set does it; above the words where none does
    tried  (sets, rows, words) bool: sets that reach the bound, or nearly; empty ones are none
    """

    lower: Tensor
    tried: Tensor


def terms(scores: Tensor, logits: Tensor, decision: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """exp(s) (ℓ^y − ℓ^c) and exp(s), each row's scores shifted so that the largest is 0; float64.

    Args:
        scores: (rows, …).
        logits: (rows, …, classes): item logits, the bias included.
        decision: (rows,) long: y.
        mask: (rows, …) bool: what counts.

    Returns:
        (classes, rows, …) terms, 0 where masked and for c = y, and (rows, …) weights; NaN in rows
        whose scores are too far apart.
    """
    scores, logits = scores.double(), two_columns(logits).double()
    flat = scores.masked_fill(~mask, -torch.inf).flatten(1)
    highest = flat.amax(1)
    lowest = scores.masked_fill(~mask, torch.inf).flatten(1).amin(1)
    shape = (-1, *(1,) * (scores.dim() - 1))
    weights = (scores - highest.view(shape)).exp().masked_fill(~mask, 0.0)
    weights = torch.where((highest - lowest > _RANGE).view(shape), torch.nan, weights)
    decided = logits.gather(-1, decision.view(*shape, 1).expand(*logits.shape[:-1], 1))
    return (weights.unsqueeze(-1) * (decided - logits)).movedim(-1, 0), weights


def room(logits: Tensor, mask: Tensor) -> Tensor:
    """(rows,) float64: how large a gap of logits rounding can make or take.

    logits  (rows, …, classes)
    mask    (rows, …) bool
    """
    largest = logits.double().abs().amax(-1).masked_fill(~mask, 0.0).flatten(1).amax(1)
    return ROUNDING * (1 + largest)


def all_masked(model: Any, trace: Trace) -> Trace:
    """The batch with the unknown word in the place of every word."""
    tokens = trace.batch.tokens.masked_fill(trace.batch.words, UNK)
    return model(replace(trace.batch, tokens=tokens, labels=None, texts=None))
