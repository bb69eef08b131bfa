"""Operator attention: the smallest sets of the exam erasure."""

from __future__ import annotations

import torch
from torch import Tensor

from verax.exams.deletion.proofs.proof import Proof
from verax.exams.erasure.states import AffineStates
from verax.models.trace import Trace


def proof(trace: Trace, rows: Tensor) -> Proof:
    """See `proof_of`. Sizes are among words that have weight; others change nothing."""
    parts = trace.weights[rows], trace.item_logits[rows], trace.mask[rows]
    smallest = AffineStates(*parts, trace.bias).minimal()
    words = ((trace.weights[rows] > 0) & trace.mask[rows]).sum(-1)
    lower = torch.where(smallest.size > 0, smallest.size, words + 1)
    return Proof(lower, smallest.members.unsqueeze(0))
