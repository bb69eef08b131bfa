"""The number that importances explain: the probability of the class decided for, or of another."""

from __future__ import annotations

import torch
from torch import Tensor

from verax.models.head import probabilities, two_columns


def lead(logits: Tensor, target: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """How far class y's logit is ahead of all others together, and ∂p_y/∂lead; both (batch,).

    y is `target`, (batch,), or else the class these logits decide for. p_y = σ(lead), so the
    gradient of p_y is the second, in float64, times the gradient of the first: taken apart, a
    decision near certainty keeps the order of what made it.
    """
    y, others = split(logits, target)
    ahead = two_columns(logits).gather(-1, y).squeeze(-1) - others.logsumexp(-1)
    return ahead, both_sides(ahead.detach().double())


def split(logits: Tensor, target: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """y, `target` or else the class decided for, (batch, 1); the logits with −∞ in its place."""
    both = two_columns(logits)
    y = both.argmax(-1, keepdim=True) if target is None else target.unsqueeze(-1)
    return y, both.scatter(-1, y, -torch.inf)


def both_sides(ahead: Tensor) -> Tensor:
    """σ(lead) σ(−lead) = p_y (1 − p_y), never quite zero, which would make all items equal."""
    product = torch.sigmoid(ahead) * torch.sigmoid(-ahead)
    return product.clamp(min=torch.finfo(product.dtype).tiny)


def lost(target: Tensor, whole: Tensor, without: Tensor) -> Tensor:
    """p_y − p_y′, (batch, n) in float64: how much of the probability of y goes with each.

    target   (batch,)             y
    whole    (batch, n, classes)  the logits with all, computed as those without are
    without  (batch, n, classes)  the logits once each of n things is left out

    p and p′ near one are distinguished by their complements.
    """
    before, after = probabilities(whole.double()), probabilities(without.double())
    place = target.view(-1, 1, 1).expand(*after.shape[:2], 1)
    difference = (before.gather(-1, place) - after.gather(-1, place)).squeeze(-1)
    rest_before = before.scatter(-1, place, 0.0).sum(-1)
    rest_after = after.scatter(-1, place, 0.0).sum(-1)
    return torch.where(rest_before < 0.5, rest_after - rest_before, difference)
