"""How many texts of a batch a pass may hold at once, when it keeps attention."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from verax.external.pieces import PieceBatch
from verax.external.transformer import TransformerClassifier

SCALARS_PER_TOKEN = 8_192
"""Numbers that take no more room than what a pass through a Transformer keeps of one token."""


def rows_within(heads: int, pieces: int, max_tokens: int, kept_layers: int = 1) -> int:
    """How many texts fit, rows × layers × heads × pieces² numbers being kept; at least one.

    Args:
        heads: of a layer.
        pieces: of the longest text.
        max_tokens: the budget of padded tokens.
        kept_layers: layers whose attention is in memory at the same time.

    >>> rows_within(12, 512, 16_384, kept_layers=12)
    3
    >>> rows_within(12, 64, 16_384, kept_layers=12)
    227
    """
    each = max(1, kept_layers * heads * pieces**2)
    most = SCALARS_PER_TOKEN * max_tokens // each
    return max(1, min(most, max_tokens // max(1, pieces)))


def parts_of(
    model: TransformerClassifier, pieces: PieceBatch, max_tokens: int, kept_layers: int = 1
) -> Iterator[tuple[Tensor, PieceBatch]]:
    """The rows of a batch in parts that fit: their places, and their pieces."""
    many = rows_within(model.heads, pieces.input_ids.shape[1], max_tokens, kept_layers)
    places = torch.arange(len(pieces), device=pieces.input_ids.device)
    if many >= len(pieces):
        yield places, pieces
        return
    for some in places.split(many):
        yield some, pieces.take(some)
