"""The words of encoded documents as text: a vocabulary knows only some of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from verax.corpora.ragged import Ragged
from verax.corpora.tokenising import Lexicon


@dataclass(frozen=True, eq=False)
class Spelling:
    """How each word of each document is written.

    numbers  every document's words as numbers of the lexicon, SOS and EOS not among them
    lexicon  every distinct word

    >>> lexicon = Lexicon()
    >>> spelling = Spelling(lexicon.number([["a", "film"], ["a"]]), lexicon)
    >>> spelling.words(0)
    ['a', 'film']
    """

    numbers: Ragged
    lexicon: Lexicon

    @cached_property
    def _written(self) -> list[str]:
        return list(self.lexicon)

    def words(self, row: int) -> list[str]:
        """The words of the document in a row of the encoded split."""
        return [self._written[number] for number in self.numbers[row].tolist()]
