"""States of words, of the states of their pieces."""

from __future__ import annotations

import torch
from torch import Tensor

from verax.external.pieces import PieceBatch


def pieces_of_words(pieces: PieceBatch, words: int) -> Tensor:
    """(batch, words): how many pieces each word has; none where the tokenizer drops it.

    Args:
        pieces: a batch.
        words: places for words in it.
    """
    each = torch.ones_like(pieces.word, dtype=torch.float64) * pieces.mask
    return pieces.sum_by_word(each, words).long()


def word_states(pieces: PieceBatch, states: Tensor, words: int) -> Tensor:
    """(batch, words, size): the mean of the states of each word's pieces; zero without any.

    Args:
        pieces: a batch.
        states: (batch, pieces, size).
        words: places for words in it.
    """
    total = pieces.sum_by_word(states.transpose(1, 2), words).transpose(1, 2)
    return total / pieces_of_words(pieces, words).clamp(min=1).unsqueeze(-1)
