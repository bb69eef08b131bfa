"""Lower bounds that need no search, for models whose logits are sums over words.

With softmax attention and an affine head class c is ahead of the decision y exactly when
Σ_i exp(s_i) (ℓ_i^y − ℓ_i^c) < 0 over the words that are there. How far a word's score s_i and item
logits ℓ_i depend on the words around it decides what can be proven:

`separable`    on no other word (encoders none and mlp): by sorting, at any length
`masked`       on two words to each side (conv), operator mask: by a dynamic programme
`shortened`    the same, operator delete: for a few deletions
`unattended`   operator attention: states stay as they are, for any encoder

The sums are float64, of what the model computes in its own precision. What rounding could decide
either way counts as possible: a proven bound is never too high. Sets are asked about all the same.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from verax.exams.deletion.proofs import masked, separable, shortened, unattended
from verax.exams.deletion.proofs.proof import Proof
from verax.models.encoders import Convolution
from verax.models.kinds import ATTENTION, DELETE, MASK, POOLED

SUMMED = ("softmax", "uniform")
"""Projections that weigh a word whatever words are beside it, up to a common factor."""

__all__ = ["Proof", "proof_of", "way_of"]


def way_of(model: Any, operator: str) -> str:
    """The name of the proof for a model and an operator; empty where there is none."""
    if model.kind != POOLED or model.attended != "words":
        return ""
    if operator == ATTENTION:
        return "unattended" if getattr(model.head, "affine", False) else ""
    known = model.known_readout
    if known is None or known[0].projection not in SUMMED:
        return ""
    if model.words_are_items:
        return "separable"
    if model.encoder.computes_as(Convolution) and model.has_vectors:
        return "masked" if operator == MASK else "shortened"
    return ""


@torch.no_grad()
def proof_of(
    model: Any,
    trace: Any,
    rows: Tensor,
    decision: Tensor,
    operator: str = DELETE,
    *,
    keeping: bool = False,
    reach: Tensor | None = None,
    budget: int = 1000,
    max_tokens: int,
) -> Proof | None:
    """What can be proven of the smallest sets of some documents; None where nothing can.

    Args:
        model: a model of any kind.
        trace: a batch.
        rows: (rows,) long: documents of the batch.
        decision: (rows,) long: the class decided for.
        operator: delete, mask or attention.
        keeping: of the smallest sets that alone keep the decision, instead of those that change it.
        reach: (rows,) long: larger sets need not be ruled out, since one is known; all, unless
            given.
        budget: bounds the deletions that a programme counts.
        max_tokens: padded tokens held at once.
    """
    way = way_of(model, operator)
    if way == "unattended":
        return None if keeping else unattended.proof(trace, rows)
    if way == "separable":
        return separable.proof(model, trace, rows, decision, operator, keeping)
    if way == "masked":
        return masked.proof(model, trace, rows, decision, keeping, max_tokens)
    if way == "shortened" and not keeping:
        return shortened.proof(model, trace, rows, decision, reach, budget, max_tokens)
    return None
