"""How much is held at once, in padded tokens: the budget that every importance keeps to."""

from __future__ import annotations

SCALARS_PER_TOKEN = 32
"""Numbers that take no more room than what a forward pass holds of one token."""


def rows_within(max_tokens: int, tokens_per_row: int, width: int) -> int:
    """How many rows fit, each a state worth some tokens and a few scalars for each of `width`."""
    scalars = SCALARS_PER_TOKEN * max_tokens // max(1, width)
    return max(1, min(max_tokens // tokens_per_row, scalars))
