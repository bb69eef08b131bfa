"""The decision once an item is gone: the projection is taken again over what is left."""

from __future__ import annotations

import torch
from torch import Tensor

from verax.models.attention import pool
from verax.models.classifier import AttentionClassifier


def decide(model: AttentionClassifier, scores: Tensor, says: Tensor, left: Tensor) -> Tensor:
    """Logits from scores and item logits, through an affine head.

    scores  (…, items)
    says    (…, items, classes)
    left    (…, items) bool: the items that are left; with none, the bias decides
    """
    width = scores.shape[-1]
    flat = left.reshape(-1, width)
    weights = model.attention.weigh(scores.reshape(-1, width), flat)
    logits = pool(weights, says.reshape(-1, *says.shape[-2:]))
    logits = torch.where(flat.any(-1, keepdim=True), logits, model.head.bias)
    return logits.view(*scores.shape[:-1], -1)
