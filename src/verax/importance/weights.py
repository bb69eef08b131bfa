"""Importance of attended items: attention, its gradient, their product, and chance."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from verax.models.classifier import AttentionClassifier
from verax.models.head import two_columns
from verax.models.noise import Noise
from verax.models.trace import Trace

Importance = Callable[[AttentionClassifier, Trace], Tensor]

_PLACE = 1 << 20


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
        lead, slope = _lead(trace.head(context))
        (found,) = torch.autograd.grad(lead.sum(), weights)
    return (found.double() * slope.detach().unsqueeze(-1)).masked_fill(~trace.mask, 0.0)


def product(model: AttentionClassifier, trace: Trace) -> Tensor:
    """α_i ∂p_y/∂α_i, attention times its gradient."""
    return trace.weights * gradient(model, trace)


def random(seed: int = 0, draw: int = 0) -> Importance:
    """An importance by chance; a document's scores depend on seed and draw, not on its batch."""

    def scores(model: AttentionClassifier, trace: Trace) -> Tensor:
        return random_draws(trace, seed, draw + 1)[draw]

    return scores


def random_draws(trace: Trace, seed: int, draws: int) -> Tensor:
    """(draws, batch, items): the first draws of `random`, all at once."""
    noise = Noise.of(trace.batch.keys, trace.mask.shape[1], seed, 0)
    return noise.uniforms(range(_PLACE, _PLACE + draws))


def weight_gradient(weights: Tensor, item_logits: Tensor, bias: Tensor, mask: Tensor) -> Tensor:
    """∂p_y/∂α_i for an affine head, (batch, items) in float64.

    weights      (batch, items)
    item_logits  (batch, items, classes)  one class means one sigmoid logit
    bias         (classes,)

    Logits are Σ α_i W h_i + b, so each moves with α_i by ℓ_i − b, not by ℓ_i: the bias is added
    once, whatever the weights sum to. Through the softmax,
    g_i = p_y ((ℓ_i^y − b^y) − Σ_k p_k (ℓ_i^k − b^k)), of which the part with b is the same for all.
    """
    says, bias = item_logits.double(), bias.double()
    weights = weights.double().masked_fill(~mask, 0.0)
    rest = 1 - weights.sum(-1, keepdim=True)
    logits = (weights.unsqueeze(1) @ says).squeeze(1) + rest * bias
    if not bool(logits.isfinite().all()):  # something else than numbers where masked
        says = says.masked_fill(~mask.unsqueeze(-1), 0.0)
        logits = (weights.unsqueeze(1) @ says).squeeze(1) + rest * bias
    slopes = _slopes(logits)
    found = (says @ slopes.unsqueeze(-1)).squeeze(-1) - (slopes @ bias).unsqueeze(-1)
    return found.masked_fill_(~mask, 0.0)


def _slopes(logits: Tensor) -> Tensor:
    """∂p_y/∂logits, (batch, classes): p_y (1 − p_y) for y, and less its share for each other.

    The shares are a softmax over the others and 1 − p_y is a sum of theirs: nothing is taken off a
    probability near one, so that a confident decision's items keep their order.
    """
    decided, others = _split(logits)
    shares = others.softmax(-1).neg().scatter(-1, decided, 1.0)
    slopes = shares * _lead(logits)[1].unsqueeze(-1)
    return slopes[:, -logits.shape[-1] :]  # of the two that one logit stands for, its own


def _lead(logits: Tensor) -> tuple[Tensor, Tensor]:
    """How far the decision's logit is ahead of all others together, and what p_y gains by it."""
    decided, others = _split(logits)
    lead = two_columns(logits).gather(-1, decided).squeeze(-1) - others.logsumexp(-1)
    return lead, _both_sides(lead.double())


def _split(logits: Tensor) -> tuple[Tensor, Tensor]:
    """The class decided for, (batch, 1), and the logits with −∞ in its place."""
    both = two_columns(logits)
    decided = both.argmax(-1, keepdim=True)
    return decided, both.scatter(-1, decided, -torch.inf)


def _both_sides(lead: Tensor) -> Tensor:
    """σ(lead) σ(−lead) = p_y (1 − p_y), never quite zero, which would make all items equal."""
    product = torch.sigmoid(lead) * torch.sigmoid(-lead)
    return product.clamp(min=torch.finfo(product.dtype).tiny)


IMPORTANCES: dict[str, Importance] = {
    "attention": attention,
    "gradient": gradient,
    "product": product,
    "random": random(),
}
"""By name, for options and flags; `random` here is its first draw."""
