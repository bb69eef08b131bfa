"""What a batch's attention is asked for the gallery: flips, the smallest set, another attention."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from verax.exams.adversary.most_divergent import Adversary, most_divergent
from verax.exams.agreement.ranks import kendall_tau_b
from verax.exams.erasure.exam import affine_states
from verax.exams.erasure.states import AffineStates, FirstFlips, FlipSets, ranks_from_below
from verax.importance import attention_gradient, score
from verax.models.classifier import AttentionClassifier
from verax.models.trace import Trace

EPSILON = 0.05
"""How far the adversary may move the probability of the decision."""


@dataclass(frozen=True, eq=False)
class Look:
    """What the erasure, adversary and agreement exams would say of each document of a batch.

    states     weights, item logits and decisions in float64
    orders     (2, batch, items): by attention and by ∂p/∂α, as `ranks_from_below` has them
    flips      (2, batch): how many items go in either order before the decision changes
    least      the smallest set that changes it
    adversary  the most divergent attention within ε
    gradient   (batch, items): ‖∂p/∂x‖ of words, or of sentences where these are the items
    tau        (batch,): τ-b of attention and `gradient`, NaN where it has no value
    """

    states: AffineStates
    orders: Tensor
    flips: FirstFlips
    least: FlipSets
    adversary: Adversary
    gradient: Tensor
    tau: Tensor

    @property
    def excess(self) -> Tensor:
        """(batch,): items that attention erases beyond the smallest set; NaN if it never flips."""
        size = self.flips.size[0]
        beyond = (size - self.least.size).double()
        return beyond.masked_fill((size < 0) | (self.least.size < 0), torch.nan)

    @property
    def everything(self) -> Tensor:
        """(batch,) bool: the decision flips only when all weight is erased."""
        left = (self.states.weights > 0) & ~self.least.members
        return (self.least.size > 0) & ~left.any(-1)


@torch.no_grad()
def look_at(model: AttentionClassifier, trace: Trace) -> Look:
    """One batch of a model with an affine head."""
    states = affine_states(trace)
    slopes = attention_gradient(model, trace).double()
    orders = ranks_from_below(torch.stack([states.weights, slopes]), trace.mask)
    on = "items" if model.attended == "sentences" else "inputs"
    gradient = score("gradient", model, trace, on)
    return Look(
        states,
        orders,
        states.first_flips(orders),
        states.minimal(),
        most_divergent(trace.weights, trace.item_logits, trace.mask, EPSILON),
        gradient,
        kendall_tau_b(states.weights, gradient, trace.mask),
    )
