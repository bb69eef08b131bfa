"""Random rows for tests of adversaries: weights, item logits, mask and keys."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor


def rows(
    seed: int,
    classes: int = 1,
    batch: int = 6,
    items: int = 7,
    zeros: bool = False,
    scale: float = 2.0,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """weights, item logits, mask, keys; float64.

    Rows have gaps and padding; the first has one item, the last has as many as there can be.
    `classes` is the number of columns. With `zeros` some items have no weight.
    """
    random = np.random.default_rng(seed)
    reach = random.integers(1, items + 1, size=(batch, 1))
    mask = (random.random((batch, items)) < 0.8) & (np.arange(items) < reach)
    mask[np.arange(batch), random.integers(reach[:, 0])] = True
    mask[-1:] = True
    mask[:1] = np.arange(items) == random.integers(items)
    weights = random.random((batch, items)) ** 3 * mask
    if zeros:
        weights[random.random((batch, items)) < 0.4] = 0
        empty = weights.sum(1) == 0
        weights[empty] = mask[empty]
    weights /= weights.sum(1, keepdims=True)
    says = scale * random.normal(size=(batch, items, classes)) + random.normal(size=classes)
    keys = random.integers(2**62, size=batch)
    return tuple(torch.tensor(made) for made in (weights, says, mask, keys))  # type: ignore[return-value]
