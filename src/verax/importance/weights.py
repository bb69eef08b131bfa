"""Importance that attention itself gives: its weights, their gradient, and the product."""

from __future__ import annotations

import torch
from torch import Tensor

from verax.importance.decision import Target, class_numbers, lead, split
from verax.importance.registry import register_importance
from verax.importance.tracing import BatchOrTrace, check_level, frozen_for_gradients, traced
from verax.models.base import evaluation_mode
from verax.models.hierarchical import HierarchicalClassifier
from verax.models.pooled import PooledClassifier


@register_importance("attention", "the attention weight α")
def attention(model: PooledClassifier, source: BatchOrTrace, on: str = "items") -> Tensor:
    """α: the weight of each item, (batch, items), or of each word, (batch, tokens).

    In a hierarchical model a word's weight is its own within its sentence times the sentence's, so
    that words sum to one as well.
    """
    check_level(on)
    trace = traced(model, source)
    if on == "items" or not isinstance(model, HierarchicalClassifier):
        return trace.weights
    with torch.no_grad():
        within = model.word_weights(trace.batch, trace.states)
        return within * trace.weights.gather(-1, trace.item_of_token.clamp(min=0))


@register_importance(
    "attention-gradient",
    "∂p/∂α, items held constant (Serrano & Smith)",
    levels=("items",),
    takes=("target",),
)
def attention_gradient(
    model: PooledClassifier, source: BatchOrTrace, *, target: Target | None = None
) -> Tensor:
    """∂p_y/∂α_i, of the probability of the class decided for, or of `target`, (batch, items).

    α is a free variable here: items stay as they are, α's own projection is not differentiated, and
    the rest is not renormalised (Serrano & Smith 2019, section 5.1). Closed form where the head is
    affine, through the head by autograd where it is not.
    """
    trace = traced(model, source)
    y = class_numbers(model.classes, target, trace.logits)
    if trace.is_affine:
        with torch.no_grad(), evaluation_mode(model):
            return weight_gradient(trace.weights, trace.item_logits, trace.bias, trace.mask, y)
    with frozen_for_gradients(model), torch.enable_grad():
        weights = trace.weights.detach().requires_grad_()
        context = (weights.unsqueeze(-2) @ trace.items.detach()).squeeze(-2)
        ahead, slope = lead(trace.head(context), y)
        (slopes,) = torch.autograd.grad(ahead.sum(), weights)
    return (slopes.double() * slope.unsqueeze(-1)).masked_fill(~trace.mask, 0.0)


@register_importance("attention-product", "α ∂p/∂α", levels=("items",), takes=("target",))
def attention_product(
    model: PooledClassifier, source: BatchOrTrace, *, target: Target | None = None
) -> Tensor:
    """α_i ∂p_y/∂α_i, attention times its gradient, (batch, items)."""
    trace = traced(model, source)
    return trace.weights * attention_gradient(model, trace, target=target)


def weight_gradient(
    weights: Tensor, item_logits: Tensor, bias: Tensor, mask: Tensor, target: Target | None = None
) -> Tensor:
    """∂p_y/∂α_i for an affine head, (batch, items) in float64.

    Args:
        weights: α, (batch, items).
        item_logits: the logits of each item alone, (batch, items, classes); one class means one
            sigmoid logit.
        bias: of the head, (classes,).
        mask: (batch, items) bool, True where there is an attended item.
        target: the number of class y, or one for each document; the class decided for, unless
            given.

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
    numbers = [str(number) for number in range(max(2, logits.shape[-1]))]
    slopes = _slopes(logits, class_numbers(numbers, target, logits))
    gradient = (says @ slopes.unsqueeze(-1)).squeeze(-1) - (slopes @ bias).unsqueeze(-1)
    return gradient.masked_fill_(~mask, 0.0)


def _slopes(logits: Tensor, target: Tensor | None) -> Tensor:
    """∂p_y/∂logits, (batch, classes): p_y (1 − p_y) for y, and less its share for each other.

    The shares are a softmax over the others and 1 − p_y is a sum of theirs: nothing is taken off a
    probability near one, so that a confident decision's items keep their order.
    """
    y, others = split(logits, target)
    shares = others.softmax(-1).neg().scatter(-1, y, 1.0)
    slopes = shares * lead(logits, target)[1].unsqueeze(-1)
    return slopes[:, -logits.shape[-1] :]  # of the two that one logit stands for, its own
