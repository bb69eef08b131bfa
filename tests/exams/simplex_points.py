"""Random attention over items that say something, and points to hold against an answer."""

from __future__ import annotations

import itertools
from functools import cache

import torch
from torch import Tensor


def rows(
    seed: int, items: int, batch: int = 5, scale: float = 3.0, zeros: bool = False
) -> tuple[Tensor, Tensor, Tensor]:
    """weights, one item logit each, and a mask with gaps; every row has an item with weight."""
    random = torch.Generator().manual_seed(seed)
    mask = torch.rand(batch, items, generator=random) < 0.8
    mask[:, int(torch.randint(items, (1,), generator=random))] = True
    weights = torch.rand(batch, items, generator=random, dtype=torch.float64) ** 4 + 1e-9
    if zeros:
        weights = weights * (torch.rand(batch, items, generator=random) < 0.5)
    weights = weights * mask
    weights += mask * (weights.sum(-1, keepdim=True) == 0)
    z = scale * torch.randn(batch, items, 1, generator=random, dtype=torch.float64)
    return weights / weights.sum(-1, keepdim=True), z, mask


@cache
def grid(items: int, steps: int) -> Tensor:
    """All points of the simplex whose weights are multiples of 1/steps."""
    points = [p for p in itertools.product(range(steps + 1), repeat=items) if sum(p) == steps]
    return torch.tensor(points, dtype=torch.float64) / steps
