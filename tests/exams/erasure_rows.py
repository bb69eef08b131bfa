"""Random rows for tests of erasure: weights, item logits, bias and mask."""

from __future__ import annotations

import numpy as np
import torch


def batch(
    seed: int, rows: int = 8, width: int = 9, classes: int = 4, zeros: bool = False
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """weights, item logits, bias, mask; each row has at least one item."""
    random = np.random.default_rng(seed)
    mask = random.random((rows, width)) < 0.7
    mask[:, random.integers(width)] = True
    weights = random.random((rows, width)) ** 3 * mask
    if zeros:
        weights[random.random((rows, width)) < 0.4] = 0
        weights[weights.sum(1) == 0] = mask[weights.sum(1) == 0]
    weights /= weights.sum(1, keepdims=True)
    says = random.normal(size=(rows, width, classes)) + random.normal(size=classes)
    return (
        torch.tensor(weights),
        torch.tensor(says),
        torch.tensor(random.normal(size=classes)),
        torch.tensor(mask),
    )
