"""How far apart two distributions are: Jensen–Shannon divergence, total variation distance."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

MOST = math.log(2)
"""The largest Jensen–Shannon divergence, of two distributions that share nothing, in nats."""

_FLOOR = -35.0
"""Least slope towards a weight of zero: there it is −∞, and a sparse projection multiplies by 0."""


def jensen_shannon(p: Tensor, q: Tensor) -> Tensor:
    """The Jensen–Shannon divergence of two distributions over the last dimension, in nats.

    ½ KL(p‖m) + ½ KL(q‖m) with m = (p + q) / 2.

    Args:
        p: (…, n), summing to one over the last dimension.
        q: the same; shapes broadcast.

    At most ln 2. Rounding may leave a value a few 1e-17 below zero, which is kept as it is. Its
    gradient is ½ ln(p/m) towards p and ½ ln(q/m) towards q, finite also where one of them is zero.
    """
    p, q = torch.broadcast_tensors(p, q)
    divergence: Tensor = _JensenShannon.apply(p, q)  # type: ignore[no-untyped-call]
    return divergence


def total_variation(p: Tensor, q: Tensor) -> Tensor:
    """The total variation distance of two distributions over the last dimension, at most 1.

    ½ Σ |p − q|; with two classes it is |Δp| of either.

    Args:
        p: (…, n), summing to one over the last dimension.
        q: the same; shapes broadcast.
    """
    return (p - q).abs().sum(-1) / 2


class _JensenShannon(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, p: Tensor, q: Tensor) -> Tensor:
        ctx.save_for_backward(p, q)
        return (_towards_middle(p, q) + _towards_middle(q, p)).sum(-1) / 2

    @staticmethod
    def backward(ctx: Any, *slopes: Any) -> tuple[Tensor | None, ...]:
        p, q = ctx.saved_tensors
        slope = slopes[0].unsqueeze(-1) / 2
        return tuple(
            slope * _log_ratio(left, right) if wanted else None
            for (left, right), wanted in zip(((p, q), (q, p)), ctx.needs_input_grad, strict=True)
        )


def _towards_middle(p: Tensor, q: Tensor) -> Tensor:
    """p ln(p/m), 0 where p is.

    p/m is 1 + (p − q) / (p + q): near 1 the second form keeps the digits of small changes, and
    where p is next to nothing beside q the first does, as 1 − 1 would be left of the second.
    """
    both = (p + q).clamp(min=torch.finfo(p.dtype).tiny)
    shift = (p - q) / both
    far = shift < -0.5
    return torch.where(
        far, torch.xlogy(p, 2 * p / both), torch.special.xlog1py(p, shift.masked_fill(far, 0.0))
    )


def _log_ratio(p: Tensor, q: Tensor) -> Tensor:
    """ln(p/m), no less than a floor, 0 where both are zero."""
    both = p + q
    ratio = 2 * p / both.clamp(min=torch.finfo(p.dtype).tiny)
    return torch.where(both > 0, ratio.log().clamp(min=_FLOOR), 0.0)
