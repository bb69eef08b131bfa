"""The decision once an item is gone: the projection is taken again over what is left."""

from __future__ import annotations

from torch import Tensor

from verax.models.attention import pool
from verax.models.classifier import AttentionClassifier


def decide(model: AttentionClassifier, scores: Tensor, says: Tensor, left: Tensor) -> Tensor:
    """Logits from scores and W h, through an affine head; float64.

    scores  (…, items)
    says    (…, items, classes)
    left    (…, items) bool: the items that are left; with none, the bias decides
    """
    width = scores.shape[-1]
    flat = scores.double().reshape(-1, width)
    weights = model.attention.weigh(flat, left.reshape(-1, width))
    logits = pool(weights, says.double().reshape(-1, *says.shape[-2:]))
    return logits.view(*scores.shape[:-1], -1) + model.head.bias.double()
