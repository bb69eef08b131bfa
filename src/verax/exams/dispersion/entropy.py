"""How spread out attention is."""

from __future__ import annotations

import torch
from torch import Tensor


def normalised_entropy(p: Tensor, mask: Tensor) -> Tensor:
    """H(p) / log n over the n items of each row, (batch,): 0 if one item has all, 1 if uniform.

    A row with fewer than two items has no normalised entropy: NaN.

    Args:
        p: (batch, items), each row summing to one over its items.
        mask: (batch, items) bool, True where there is an item.
    """
    p = p.double().masked_fill(~mask, 0.0)
    entropy = -torch.special.xlogy(p, p).sum(-1)
    count = mask.sum(-1).double()
    return torch.where(count > 1, entropy / count.clamp(min=2).log(), torch.nan)


def support_size(p: Tensor, mask: Tensor) -> Tensor:
    """How many items of each row have a weight above zero, (batch,).

    Args:
        p: (batch, items) weights.
        mask: (batch, items) bool.
    """
    return ((p > 0) & mask).sum(-1)
