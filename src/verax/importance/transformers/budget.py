"""How many texts of a batch a pass through a Transformer may hold at once."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from verax.external.pieces import PieceBatch
from verax.models.transformers.classifier import TransformerClassifier

SCALARS_PER_TOKEN = 16_384
"""Numbers of states that a pass may keep for each token of the budget."""
STATES = 16
"""Vectors that a layer keeps of a position, besides its attention, to be gone back through."""


def rows_at_once(
    model: TransformerClassifier, pieces: PieceBatch, max_tokens: int, kept_layers: int = 1
) -> int:
    """How many texts as long as those of a batch one pass may hold, at least one.

    Attention stays within `model.rows_within`; where layers are kept to be gone back through, their
    states do, too: rows × pieces × layers × 16 × size within 16,384 numbers a token.

    Args:
        model: a Transformer.
        pieces: a batch.
        max_tokens: the budget of padded tokens.
        kept_layers: layers that are in memory at the same time: one where each is reduced as the
            pass goes, all where one goes back through them.
    """
    size = int(getattr(model.module.config, "hidden_size", None) or 768)
    each = max(1, pieces.input_ids.shape[1] * kept_layers * STATES * size)
    most = max(1, SCALARS_PER_TOKEN * max_tokens // each)
    return min(most, model.rows_within(pieces, max_tokens, kept_layers))


def parts_of(
    model: TransformerClassifier, pieces: PieceBatch, max_tokens: int, kept_layers: int = 1
) -> Iterator[tuple[Tensor, PieceBatch]]:
    """The rows of a batch in parts that fit: their places, and their pieces."""
    places = torch.arange(len(pieces), device=pieces.input_ids.device)
    for some in places.split(rows_at_once(model, pieces, max_tokens, kept_layers)):
        yield some, pieces if len(some) == len(pieces) else pieces.take(some)
