"""Which words a model knows, and documents as their numbers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from verax.corpora.ragged import Ragged
from verax.corpora.tokenizer import TokenizedTexts
from verax.errors import VeraxError

PAD, UNK, SOS, EOS = range(4)
"""The token ids of padding, unknown words, and the start and the end of a text."""
SPECIALS = ("<pad>", "<unk>", "<sos>", "<eos>")
"""The words that stand for the special token ids PAD, UNK, SOS and EOS."""
_DOCUMENTS = 2**16
"""Documents whose words are counted together."""


class Vocabulary:
    """Words in rows: PAD 0, UNK 1, SOS 2, EOS 3, then words from the most to the least frequent.

    A word written like a special token in a text is an ordinary word, and never taken for one.
    """

    def __init__(self, words: Sequence[str]) -> None:
        self.words: tuple[str, ...] = tuple(words)

    def __len__(self) -> int:
        return len(SPECIALS) + len(self.words)

    def __repr__(self) -> str:
        return f"Vocabulary({len(self):,} rows)"

    @classmethod
    def of(cls, train: TokenizedTexts, min_df: int = 1, max_size: int | None = None) -> Vocabulary:
        """The words of the training documents that occur in at least `min_df` of them.

        With `max_size`, the most frequent that many (special rows not counted). Ties in frequency
        are in order of the alphabet, so the rows do not depend on the order of documents.
        """
        tokens, lexicon = train.numbers, train.lexicon
        counts = np.bincount(tokens.values.astype(np.int64), minlength=len(lexicon))
        document_frequency = _document_frequency(tokens, len(lexicon))
        types = list(lexicon)
        kept = np.flatnonzero((document_frequency >= min_df) & (counts > 0))
        words = sorted((types[i] for i in kept), key=lambda w: (-counts[lexicon[w]], w))
        if not words:
            raise VeraxError(
                f"no word occurs in {min_df} training documents: lower min_df (--min-df)",
                code="corpus.too-small",
            )
        return cls(words[:max_size])

    @cached_property
    def rows(self) -> dict[str, int]:
        """The row of each word."""
        return {word: row for row, word in enumerate(self.words, start=len(SPECIALS))}

    def text(self, row: int) -> str:
        """The word in a row, or the special token's name."""
        return SPECIALS[row] if row < len(SPECIALS) else self.words[row - len(SPECIALS)]

    def encode(self, texts: TokenizedTexts) -> Ragged:
        """The row of every word, UNK for unknown ones; one look-up per distinct word."""
        numbers = texts.numbers  # fills the lexicon
        table: NDArray[np.int32] = np.array(
            [self.rows.get(word, UNK) for word in texts.lexicon], dtype=np.int32
        )
        return Ragged(table[numbers.values.astype(np.int64)], numbers.offsets)


def _document_frequency(tokens: Ragged, words: int) -> NDArray[np.int64]:
    """(words,): in how many documents each word occurs; counted for some documents at a time."""
    frequency = np.zeros(words, dtype=np.int64)
    for first in range(0, len(tokens), _DOCUMENTS):
        offsets = tokens.offsets[first : first + _DOCUMENTS + 1]
        part = Ragged(tokens.values[offsets[0] : offsets[-1]], offsets - offsets[0])
        pairs = np.unique(part.row_of_value * words + part.values.astype(np.int64))
        frequency += np.bincount(pairs % words, minlength=words)
    return frequency
