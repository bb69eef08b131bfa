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
        top = probabilities(trace.head(context)).amax(-1).sum()
        (found,) = torch.autograd.grad(top, weights)
    return found.masked_fill(~trace.mask, 0.0)


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
    shares = probabilities(logits)
    if says.shape[-1] == 1:
        # p_1 rises with the logit and p_0 falls, both by p_0 p_1
        slope = torch.where(logits > 0, 1.0, -1.0) * shares.prod(-1, keepdim=True)
        return ((says.squeeze(-1) - bias) * slope).masked_fill(~mask, 0.0)
    top, decided = shares.max(-1)
    # what each class's logit does to p_y, as one vector a document
    slopes = -top.unsqueeze(-1) * shares
    slopes.scatter_add_(-1, decided.unsqueeze(-1), top.unsqueeze(-1))
    found = (says @ slopes.unsqueeze(-1)).squeeze(-1) - (slopes @ bias).unsqueeze(-1)
    return found.masked_fill_(~mask, 0.0)


IMPORTANCES: dict[str, Importance] = {
    "attention": attention,
    "gradient": gradient,
    "product": product,
    "random": random(),
}
"""By name, for options and flags; `random` here is its first draw."""
