"""How many texts of a batch a pass through a Transformer may hold at once."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from verax.external.pieces import PieceBatch
from verax.external.transformer import TransformerClassifier

SCALARS_PER_TOKEN = 16_384
"""Numbers that a pass may keep for each token of the budget."""
STATES = 16
"""Vectors that a layer keeps of a position, besides its attention, to be gone back through."""


def rows_within(
    pieces: int, max_tokens: int, *, heads: int, size: int, kept_layers: int = 1
) -> int:
    """How many texts fit into a budget, at least one: rows × layers × (heads × pieces² + states).

    Args:
        pieces: of the longest text.
        max_tokens: the budget of padded tokens.
        heads: of a layer.
        size: of its states.
        kept_layers: layers that are in memory at the same time: one where each is reduced as the
            pass goes, all where one goes back through them.

    >>> rows_within(512, 16_384, heads=12, size=768, kept_layers=12)
    2
    >>> rows_within(32, 16_384, heads=12, size=768, kept_layers=12)
    55
    """
    each = max(1, kept_layers * pieces * (heads * pieces + STATES * size))
    return max(1, min(SCALARS_PER_TOKEN * max_tokens // each, max_tokens // max(1, pieces)))


def rows_at_once(
    model: TransformerClassifier, pieces: PieceBatch, max_tokens: int, kept_layers: int = 1
) -> int:
    """How many texts as long as those of a batch one pass of a model may hold."""
    size = int(getattr(model.module.config, "hidden_size", None) or 768)
    width = pieces.input_ids.shape[1]
    return rows_within(width, max_tokens, heads=model.heads, size=size, kept_layers=kept_layers)


def parts_of(
    model: TransformerClassifier, pieces: PieceBatch, max_tokens: int, kept_layers: int = 1
) -> Iterator[tuple[Tensor, PieceBatch]]:
    """The rows of a batch in parts that fit: their places, and their pieces."""
    places = torch.arange(len(pieces), device=pieces.input_ids.device)
    for some in places.split(rows_at_once(model, pieces, max_tokens, kept_layers)):
        yield some, pieces if len(some) == len(pieces) else pieces.take(some)
