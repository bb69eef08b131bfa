"""Tables of a verdict, with the words covered that the user does not want to keep."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from verax.corpora.redacting import COVER, Patterns, covered_in

_PLACES = {"gallery_tokens": "token", "gallery_words": "place"}
"""Tables with a row for each word of a document → the column that says which word it is."""
_WORDS = ("text", "word", "token")
"""Columns of other tables, those of exams of other packages too, that hold words."""


class Redaction:
    """What to cover in the tables of one examination.

    A word is covered in the text of a document if it shares a letter with a match there. In tables
    of single words it is covered if it was in any of the examined documents. So a name that is
    found by the words around it stands nowhere.

    Args:
        patterns: what to look for, in texts as they were written.
        encoded: the documents, as the model reads them.
    """

    def __init__(self, patterns: Patterns, encoded: Any) -> None:
        self.patterns = patterns
        self.covered_documents = 0
        self._covered: dict[int, NDArray[np.bool_]] = {}
        self._words: set[str] = set()
        of_documents = zip(encoded.ids.tolist(), encoded.texts, encoded.spans, strict=True)
        for number, text, places in of_documents:
            covered = covered_in(text, places, patterns)
            written = text if isinstance(text, str) else " ".join(text)
            words = (written[begin:end] for begin, end in places[covered].tolist())
            self._words.update(word.casefold() for word in words)
            self.covered_documents += bool(covered.any())
            self._covered[number] = _either(self._covered.get(number), covered)

    def tables(self, tables: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
        """The tables with a block in the place of each word that is to be covered."""
        return {name: self._table(name, table) for name, table in tables.items()}

    def manifest(self) -> dict[str, int]:
        """How many patterns there were, and in how many documents they were found.

        Patterns themselves are not kept: one may be a name.
        """
        return {"patterns": len(self.patterns), "documents": self.covered_documents}

    def _table(self, name: str, table: pd.DataFrame) -> pd.DataFrame:
        if name in _PLACES:
            places = zip(table["id"], table[_PLACES[name]], strict=True)
            hidden = np.array([self._covers(int(i), int(place)) for i, place in places], dtype=bool)
            return table.assign(text=table["text"].astype(object).where(~hidden, COVER))
        columns = [c for c in table if c in _WORDS and not pd.api.types.is_numeric_dtype(table[c])]
        changed: dict[str, Any] = {}
        for column in columns:
            different = table[column].astype(object)
            hidden_words = {word for word in different.unique() if self._is_hidden(str(word))}
            hidden = different.isin(hidden_words).to_numpy()
            if hidden.any():
                changed[str(column)] = different.where(~hidden, COVER)
        return table.assign(**changed) if changed else table

    def _covers(self, number: int, place: int) -> bool:
        covered = self._covered[number]
        return place >= len(covered) or bool(covered[place])

    def _is_hidden(self, word: str) -> bool:
        return word.casefold() in self._words or any(p.search(word) for p in self.patterns)


def _either(one: NDArray[np.bool_] | None, other: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Where either is True; documents of several splits may share an id."""
    if one is None:
        return other
    longer, shorter = (one, other) if len(one) >= len(other) else (other, one)
    joined = longer.copy()
    joined[: len(shorter)] |= shorter
    return joined
