"""Importance by gradient: how the decision moves with each input, or with each item."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from verax.corpora.batch import Batch
from verax.corpora.batching import MAX_TOKENS
from verax.errors import VeraxError, nearest
from verax.importance.budget import copies_within, repeated
from verax.importance.decision import Target, class_numbers, lead
from verax.importance.registry import register_importance
from verax.importance.tracing import BatchOrTrace, check_level, frozen_for_gradients, once, traced
from verax.models.layers import decisions, pool
from verax.models.pooled import PooledClassifier
from verax.models.trace import Trace
from verax.progress import tracked

OF_VECTORS = (
    *("gradient", "gradient-detached", "gradient-input", "gradient-input-detached"),
    "integrated-gradients",
)
"""Importances that go back to word vectors: on inputs, a pooled model without has none of them."""
THROUGH = ("all", "values")
SCORES = ("norm", "product")


# the last decorator registers first
@register_importance(
    "gradient-input-detached",
    "∂p/∂x · x with attention held constant (Jain & Wallace); above 0 it supports the class",
    takes=("signed", "target"),
    score="product",
    through="values",
)
@register_importance(
    "gradient-input",
    "∂p/∂x · x, through the weights as well; above 0 it supports the class",
    takes=("signed", "target"),
    score="product",
)
@register_importance(
    "gradient-detached",
    "‖∂p/∂x‖ with attention held constant",
    takes=("target",),
    through="values",
)
@register_importance("gradient", "‖∂p/∂x‖, through the weights as well", takes=("target",))
def gradient(
    model: PooledClassifier,
    source: BatchOrTrace,
    on: str = "inputs",
    *,
    through: str = "all",
    score: str = "norm",
    signed: bool = False,
    boundaries: bool = False,
    target: Target | None = None,
) -> Tensor:
    """How p_y moves with each word's vector, (batch, tokens), or with each item, (batch, items).

    through     "all": the full gradient, through the weights as well; "values": attention detached,
                its weights taken for constants (Jain & Wallace's code)
    score       "norm": ‖g_i‖₂ (Meister et al., eq. 4); "product": |g_i · x_i|, gradient × input
    signed      keep the sign of a product
    boundaries  keep the scores of SOS and EOS, which else are zero as padding is
    target      the class y by name or number, or one for each document; the class decided for,
                unless given

    float64, not normalised. With attention detached p_y is a function of Σ α_i h_i alone, so that
    ∂p_y/∂h_i is α_i times a vector that all items share: the norm on items *is* attention, and its
    agreement with attention a tautology.
    """
    check_level(on)
    _check("through", through, THROUGH)
    _check("score", score, SCORES)
    refuse_without_vectors(model, on)
    trace = traced(model, source)
    y = class_numbers(model.classes, target, trace.logits)
    back, slope = _of_the_lead(model, trace, through, y)
    values = (trace.embedded if on == "inputs" else trace.items).double()
    if score == "norm":
        scores = torch.linalg.vector_norm(back[on], dim=-1)
    else:
        scores = (back[on] * values).sum(-1)
        scores = scores if signed else scores.abs()
    # last, for the slope of a decision near certainty would be lost in a square
    return (scores * slope.unsqueeze(-1)).masked_fill(~_shown(trace, on, boundaries), 0.0)


def gradients(model: PooledClassifier, trace: Trace, through: str = "all") -> dict[str, Tensor]:
    """∂p_y/∂ word vectors and ∂p_y/∂ items in full, (batch, tokens or items, size) in float64.

    One pass forward and one back for both, kept with the trace.
    """
    back, slope = _of_the_lead(model, trace, through)
    return {on: values * slope.view(-1, 1, 1) for on, values in back.items()}


def _of_the_lead(
    model: PooledClassifier, trace: Trace, through: str, target: Tensor | None = None
) -> tuple[dict[str, Tensor], Tensor]:
    """Gradients of how far y is ahead, and what p_y gains by that, (batch,)."""
    key = ("gradients", model, through, None if target is None else tuple(target.tolist()))
    return once(trace, key, lambda: _back(model, trace, through, target))


def _back(
    model: PooledClassifier, trace: Trace, through: str, target: Tensor | None
) -> tuple[dict[str, Tensor], Tensor]:
    with frozen_for_gradients(model), torch.enable_grad():
        embedded = trace.embedded.detach().requires_grad_()
        _, items = model.encode_states(trace.batch, embedded)
        if not items.requires_grad:  # no word has a say
            items.requires_grad_()
        weights, context = _pooled(model, items, trace.batch, through)
        ahead, slope = lead(model.head(context), target)
        wanted = (embedded, items, context)
        inputs, of_items, of_context = torch.autograd.grad(
            ahead.sum(), wanted, allow_unused=True, materialize_grads=True
        )
    of_items = of_items.double()
    if through == "values":  # α_i times what all items share, to the last digit
        of_items = weights.detach().double().unsqueeze(-1) * of_context.double().unsqueeze(1)
    return {"inputs": inputs.double(), "items": of_items}, slope


def _pooled(
    model: PooledClassifier, items: Tensor, batch: Batch, through: str
) -> tuple[Tensor, Tensor]:
    """Weights and context, the weights as they follow from the items or held constant."""
    _, weights = model.attend(batch, items)
    weights = weights if through == "all" else weights.detach()
    return weights, pool(weights, items)


@register_importance(
    "integrated-gradients",
    "gradient × input along the way from nothing; above 0 it supports the class",
    takes=("signed", "max_tokens", "target"),
)
def integrated_gradients(
    model: PooledClassifier,
    source: BatchOrTrace,
    on: str = "inputs",
    *,
    steps: int = 50,
    through: str = "all",
    signed: bool = False,
    max_tokens: int = MAX_TOKENS,
    target: Target | None = None,
) -> Tensor:
    """∫ ∂p_y/∂x_i · (x_i − x⁰_i) along the straight path from x⁰ to x (Sundararajan et al. 2017).

    x⁰ has zero vectors in place of words; SOS and EOS stay, so that the words' signed scores alone
    sum to p_y(x) − p_y(x⁰), up to the error of Gauss–Legendre quadrature in `steps` points. On
    items the path runs from zero items to the items as they are. y is the class decided for, or
    `target`, by name or number, or one for each document. float64.
    """
    check_level(on)
    _check("through", through, THROUGH)
    refuse_without_vectors(model, on)
    trace = traced(model, source)
    end = trace.embedded if on == "inputs" else trace.items
    shown = _shown(trace, on, boundaries=False)
    start = torch.zeros_like(end)
    if on == "inputs":
        start = torch.where((trace.token_mask & ~shown).unsqueeze(-1), end, start)
    places, shares = np.polynomial.legendre.leggauss(steps)
    places, shares = (places + 1) / 2, shares / 2
    chosen = class_numbers(model.classes, target, trace.logits)
    y = decisions(trace.logits) if chosen is None else chosen
    total = torch.zeros_like(end, dtype=torch.float64)
    many = copies_within(trace.batch, max_tokens)
    with frozen_for_gradients(model), torch.enable_grad():
        for first in tracked(range(0, steps, many), "integrating", steps, lambda _: many):
            part = torch.from_numpy(places[first : first + many]).to(end)
            share = torch.from_numpy(shares[first : first + many]).to(total)
            way = start + part.view(-1, 1, 1, 1) * (end - start)
            way = way.flatten(0, 1).detach().requires_grad_()
            batch = repeated(trace.batch, len(part))
            items = model.encode_states(batch, way)[1] if on == "inputs" else way
            _, context = _pooled(model, items, batch, through)
            ahead, slope = lead(model.head(context), y.repeat(len(part)))
            (back,) = torch.autograd.grad(ahead.sum(), way)
            back = back.double() * slope.view(-1, 1, 1)
            total += torch.einsum("s,s...->...", share, back.unflatten(0, (len(part), -1)))
    scores = (total * (end - start).double()).sum(-1)
    scores = scores if signed else scores.abs()
    return scores.masked_fill(~shown, 0.0)


def on_vectors(names: Iterable[str], model: Any) -> list[str]:
    """The importances of inputs, of those named, that a model has."""
    has_vectors = getattr(model, "has_vectors", True)
    return [name for name in names if has_vectors or name not in OF_VECTORS]


def refuse_without_vectors(model: PooledClassifier, on: str = "inputs") -> None:
    """Raise a `VeraxError` where inputs have no gradients."""
    if on == "inputs" and not model.has_vectors:
        raise VeraxError(
            "this model shows no word vectors, so that inputs have no gradients: give embed to "
            "from_module",
            code="importance.not-applicable",
        )


def _shown(trace: Trace, on: str, boundaries: bool) -> Tensor:
    if on == "items":
        return trace.mask
    return trace.token_mask if boundaries else trace.batch.words


def _check(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise VeraxError(
            f"{name} is {value!r}: {nearest(value, choices)}", code="option.unknown-value"
        )
