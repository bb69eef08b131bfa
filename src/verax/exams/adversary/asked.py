"""What a question about other attention begins with: the weights there are, and what items say."""

from __future__ import annotations

import torch
from torch import Tensor

from verax.errors import VeraxError


def own_weights(weights: Tensor, mask: Tensor) -> Tensor:
    """(batch, items), float64: zero where masked, and each row sums to one."""
    if weights.dim() != 2 or mask.dtype != torch.bool or mask.shape != weights.shape:
        raise VeraxError(
            f"mask is {mask.dtype} of shape {tuple(mask.shape)}: expected bool of weights' shape "
            f"{tuple(weights.shape)}, (batch, items)"
        )
    own = weights.detach().double().masked_fill(~mask, 0.0)
    if not bool((own.isfinite() & (own >= 0)).all()):
        raise VeraxError("weights are negative, NaN or infinite: expected a row on the simplex")
    total = own.sum(-1, keepdim=True)
    if not bool((total > 0).all()):
        raise VeraxError("a row of weights has no item with weight: leave it out")
    return own / total


def item_says(item_logits: Tensor, mask: Tensor) -> Tensor:
    """(batch, items, classes), float64: zero where masked."""
    if item_logits.dim() != 3 or item_logits.shape[:2] != mask.shape:
        raise VeraxError(
            f"item_logits has shape {tuple(item_logits.shape)}: expected "
            f"({mask.shape[0]}, {mask.shape[1]}, classes) as weights"
        )
    says = item_logits.detach().double().masked_fill(~mask.unsqueeze(-1), 0.0)
    if not bool(says.isfinite().all()):
        raise VeraxError("item_logits are NaN or infinite: expected finite numbers")
    return says
