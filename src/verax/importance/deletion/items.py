"""Leave-one-out on items: scores stay, and the weights are shared out again."""

from __future__ import annotations

import torch
from torch import Tensor

from verax.budget import SCALARS_PER_TOKEN
from verax.models.pooled import PooledClassifier
from verax.models.trace import Trace


def logits_without_items(
    model: PooledClassifier, trace: Trace, weights: str, max_tokens: int
) -> tuple[Tensor, Tensor]:
    """Logits with all items, (batch, classes), and without each, (batch, items, classes); float64.

    The first are worked out as the second are, so that their difference is no rounding.
    """
    if weights == "renormalised":
        return _renormalised(trace)
    mask = trace.mask
    n = max(1, mask.shape[1])
    every = torch.arange(len(trace), device=mask.device)
    whole = model.weights_left(trace, every, mask.unsqueeze(1), max_tokens)
    logits = []
    budget = max(1, SCALARS_PER_TOKEN * max_tokens // (n * n))
    together = max(1, min(n, SCALARS_PER_TOKEN * max_tokens // n))
    for rows in every.split(budget):
        parts = []
        for places in torch.arange(n, device=mask.device).split(together):
            kept = torch.arange(n, device=mask.device) != places.unsqueeze(-1)
            left = mask[rows].unsqueeze(1) & kept
            shared = model.weights_left(trace, rows, left, max_tokens)
            parts.append(_say(trace, shared, rows))
        logits.append(torch.cat(parts, dim=1))
    return _say(trace, whole, every).squeeze(1), torch.cat(logits)


def _say(trace: Trace, weights: Tensor, rows: Tensor) -> Tensor:
    """(rows, n, items) weights → (rows, n, classes) logits; a row of zeros leaves the bias."""
    if trace.is_affine:
        return weights @ _contributions(trace)[rows] + trace.bias.double()
    return trace.head((weights @ trace.items[rows].double()).to(trace.items)).double()


def _contributions(trace: Trace) -> Tensor:
    """W h_i, (batch, items, classes): the bias is added once, to the logits, so that a head which
    hears nothing says the same whatever the weights.
    """
    contributions = trace.item_logits.double() - trace.bias.double()
    return contributions.masked_fill(~trace.mask.unsqueeze(-1), 0.0)


def _renormalised(trace: Trace) -> tuple[Tensor, Tensor]:
    """Zero α_i and scale the rest to sum to one, in closed form.

    Σ_{j≠i} α_j ℓ_j and Σ_{j≠i} α_j are sums of what comes before and after i: nothing is taken off
    a total, which α_i near one would leave without digits. With no weight left the bias decides.
    """
    weights = trace.weights.double().unsqueeze(-1)
    rest = _others(weights)
    total = weights.sum(1, keepdim=True)
    if trace.is_affine:
        parts = weights * _contributions(trace)
        without = torch.where(rest > 0, _others(parts) / rest, 0.0)
        bias = trace.bias.double()
        return (parts.sum(1, keepdim=True) / total).squeeze(1) + bias, without + bias
    parts = weights * trace.items.double()
    contexts = torch.where(rest > 0, _others(parts) / rest, 0.0)
    whole = parts.sum(1, keepdim=True) / total
    logits = trace.head(torch.cat([whole, contexts], dim=1).to(trace.items)).double()
    return logits[:, 0], logits[:, 1:]


def _others(values: Tensor) -> Tensor:
    """Σ_{j≠i} over dimension 1, for every i."""
    before = values.cumsum(1).roll(1, 1)
    after = values.flip(1).cumsum(1).flip(1).roll(-1, 1)
    before[:, :1] = 0
    after[:, -1:] = 0
    return before + after
