"""Importance of attended items: attention, its gradient, their product, and chance."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from verax.models.classifier import AttentionClassifier
from verax.models.head import probabilities
from verax.models.noise import Noise
from verax.models.trace import Trace

Importance = Callable[[AttentionClassifier, Trace], Tensor]

_PLACE = 101


def attention(model: AttentionClassifier, trace: Trace) -> Tensor:
    """α_i, the weight itself."""
    return trace.weights


def gradient(model: AttentionClassifier, trace: Trace) -> Tensor:
    """∂p_y/∂α_i, of the probability of the class decided for.

    α is a free variable here: items stay as they are, α's own projection is not differentiated, and
    the rest is not renormalised (Serrano & Smith 2019, section 5.1). Closed form where the head is
    affine, through the head by autograd where it is not.
    """
    if trace.is_affine:
        return weight_gradient(trace.weights, trace.item_logits, trace.bias, trace.mask)
    with torch.enable_grad():
        weights = trace.weights.detach().requires_grad_()
        context = (weights.unsqueeze(-2) @ trace.items.detach()).squeeze(-2)
        top = probabilities(trace.head(context)).amax(-1).sum()
        (found,) = torch.autograd.grad(top, weights)
    return found.masked_fill(~trace.mask, 0.0)


def product(model: AttentionClassifier, trace: Trace) -> Tensor:
    """α_i ∂p_y/∂α_i, attention times its gradient."""
    return trace.weights * gradient(model, trace)


def random(seed: int = 0, draw: int = 0) -> Importance:
    """An importance by chance; a document's scores depend on seed and draw, not on its batch."""

    def scores(model: AttentionClassifier, trace: Trace) -> Tensor:
        noise = Noise.of(trace.batch.keys, trace.mask.shape[1], seed, draw)
        return noise.uniform(_PLACE)

    return scores


def weight_gradient(weights: Tensor, item_logits: Tensor, bias: Tensor, mask: Tensor) -> Tensor:
    """∂p_y/∂α_i for an affine head, (batch, items) in float64.

    weights      (batch, items)
    item_logits  (batch, items, classes)  one class means one sigmoid logit
    bias         (classes,)

    Logits are Σ α_i W h_i + b, so each moves with α_i by ℓ_i − b, not by ℓ_i: the bias is added
    once, whatever the weights sum to. Through the softmax,
    g_i = p_y (m_i^y − Σ_k p_k m_i^k) with m_i = ℓ_i − b.
    """
    weights = weights.double().masked_fill(~mask, 0.0)
    moves = (item_logits.double() - bias.double()).masked_fill(~mask.unsqueeze(-1), 0.0)
    logits = (weights.unsqueeze(1) @ moves).squeeze(1) + bias.double()
    shares = probabilities(logits)
    if moves.shape[-1] == 1:
        # p_1 rises with the logit and p_0 falls, both by p_0 p_1
        sign = torch.where(logits > 0, 1.0, -1.0)
        return moves.squeeze(-1) * sign * shares.prod(-1, keepdim=True)
    top, decided = shares.max(-1)
    mean = (moves @ shares.unsqueeze(-1)).squeeze(-1)
    own = moves.gather(-1, decided[:, None, None].expand(*moves.shape[:2], 1)).squeeze(-1)
    return (own - mean) * top.unsqueeze(-1)


IMPORTANCES: dict[str, Importance] = {
    "attention": attention,
    "gradient": gradient,
    "product": product,
    "random": random(),
}
"""By name, for options and flags; `random` here is its first draw."""
