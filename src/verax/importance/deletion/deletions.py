"""Deletions of words, and the logits once an item is gone."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor

from verax.models.layers import pool
from verax.models.pooled import PooledClassifier


class Deletions(NamedTuple):
    """Logits of some documents after words were deleted, one at a time.

    rows    (documents,) long: where the documents stand in the batch
    places  (places,) long: the tokens deleted
    logits  (documents, places, classes)
    whole   the same with nothing deleted, computed the same way: what cannot have changed is the
            same to the last digit, and no rounding is taken for importance
    """

    rows: Tensor
    places: Tensor
    logits: Tensor
    whole: Tensor


def decide(model: PooledClassifier, scores: Tensor, says: Tensor, left: Tensor) -> Tensor:
    """Logits from scores and W h, the projection taken again over the items left; float64.

    scores  (…, items)
    says    (…, items, classes): through an affine head
    left    (…, items) bool: the items that are left; with none, the bias decides
    """
    width = scores.shape[-1]
    flat = scores.double().reshape(-1, width)
    assert model.known_readout is not None  # the ways that come here ask for it
    attention, head = model.known_readout
    weights = attention.weigh(flat, left.reshape(-1, width))
    logits = pool(weights, says.double().reshape(-1, *says.shape[-2:]))
    return logits.view(*scores.shape[:-1], -1) + head.bias.double()
