"""How much is in memory at once: one budget in padded tokens, which everything in batches keeps to.

A budget bounds memory and never decides a result: more than fits is done in several parts. Classes
count. What a pass keeps of a token has room for the numbers of 64 classes; with more of them fewer
tokens fit.
"""

from __future__ import annotations

from collections.abc import Iterator

MAX_TOKENS = 16_384
"""Default budget: padded tokens that a forward pass may hold at once."""
SCALARS_PER_TOKEN = 32
"""Numbers that take no more room than what a forward pass keeps of one token."""
FREE_CLASSES, FREE_CLASSES_OF_A_ROW = 64, 16
"""Classes whose numbers take no more room than what is kept of a token, or of a row's word, anyway.
Up to so many nothing is cut smaller."""
NUMBERS = 2**24
"""Numbers of one array that is made for a moment: 128 MiB in float64."""


def tokens_within(max_tokens: int, classes: int) -> int:
    """How many tokens fit that have a number for each class; at least one.

    >>> tokens_within(16_384, 2), tokens_within(16_384, 1500)
    (16384, 682)
    """
    return max(1, max_tokens // max(1, -(-classes // FREE_CLASSES)))


def rows_within(max_tokens: int, tokens_per_row: int, width: int, classes: int = 1) -> int:
    """How many rows fit, at least one.

    Args:
        max_tokens: the budget.
        tokens_per_row: what the state of a row is worth.
        width: a row has a few numbers for each of so many words …
        classes: … and a number for each class of each word.
    """
    each = max(1, width) * max(1, -(-classes // FREE_CLASSES_OF_A_ROW))
    scalars = SCALARS_PER_TOKEN * max_tokens // each
    return max(1, min(max_tokens // tokens_per_row, scalars))


def parts_within(rows: int, each: int, numbers: int = NUMBERS) -> Iterator[slice]:
    """Rows in parts whose arrays, `each` numbers a row, stay within so many numbers.

    >>> list(parts_within(5, each=10, numbers=25))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    many = max(1, numbers // max(1, each))
    return (slice(first, min(rows, first + many)) for first in range(0, rows, many))
