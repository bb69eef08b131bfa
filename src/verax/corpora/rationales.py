"""Rationales: which characters of a text people marked as the reason for its label.

Marks are kept as spans of characters, so that they apply to the words of any tokenizer. A word
is marked by an annotator if at least one of its characters is. It is in the rationale if more than
half of the document's annotators marked it; a tie does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from verax.corpora.ragged import Ragged

Places = NDArray[np.int64]
"""(words, 2): where each word begins, and where it ends."""
Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Rationales:
    """The spans that annotators marked in each document.

    spans       a row per document, values (spans, 3): the annotator, counted from 0, the first
                character, and the one after the last; the spans of one annotator are in order, and
                no two of them touch
    annotators  (documents,): the number of annotators of each document; 0 where there were none
    """

    spans: Ragged
    annotators: NDArray[np.int64]

    @classmethod
    def of(cls, documents: Sequence[Places], annotators: Sequence[int]) -> Rationales:
        """From an array (spans, 3) for each document, as `united` gives it."""
        whole = np.concatenate([np.zeros((0, 3), np.int64), *documents])
        lengths = np.array([len(one) for one in documents], dtype=np.int64)
        return cls(Ragged.from_lengths(whole, lengths), np.array(annotators, dtype=np.int64))

    def __len__(self) -> int:
        return len(self.annotators)

    def take(self, rows: NDArray[np.int64]) -> Rationales:
        """Those of the documents at these positions, in that order."""
        return Rationales(self.spans.take(rows), self.annotators[rows])

    @staticmethod
    def joined(parts: Sequence[Rationales | None], sizes: Sequence[int]) -> Rationales | None:
        """Those of several splits, one after the other; nobody looked at a split without any.

        Args:
            parts: of each split; None where it has none.
            sizes: how many documents each split has.
        """
        if all(part is None for part in parts):
            return None
        spans: list[Places] = []
        annotators: list[int] = []
        for part, size in zip(parts, sizes, strict=True):
            spans += [np.zeros((0, 3), np.int64)] * size if part is None else list(part.spans)  # type: ignore[arg-type]
            annotators += [0] * size if part is None else part.annotators.tolist()
        return Rationales.of(spans, annotators)

    def marked(self, places: Ragged) -> Bools:
        """(annotators, words) bool: which words each annotator marked.

        Args:
            places: a row per document, values (words, 2): where its words begin and end.

        Spans of one annotator do not overlap, so that of those that begin before a word's end the
        last one reaches farthest: the word is marked if that one ends behind the word's beginning.
        """
        words = places.values.astype(np.int64).reshape(-1, 2)
        spans = self.spans.values.astype(np.int64).reshape(-1, 3)
        most = int(self.annotators.max(initial=0))
        marked = np.zeros((most, len(words)), dtype=bool)
        if not len(words) or not len(spans):
            return marked
        # one line of characters for all documents, each of which begins behind the one before
        width = int(max(words.max(), spans[:, 1:].max())) + 1
        begin, end = (words + width * places.row_of_value[:, None]).T
        where = spans[:, 1:] + width * self.spans.row_of_value[:, None]
        for annotator in range(most):
            starts, stops = where[spans[:, 0] == annotator].T
            before = np.searchsorted(starts, end, side="left")  # spans that begin before its end
            reach = np.concatenate([[-1], stops])[before]
            marked[annotator] = (reach > begin) & (end > begin)
        return marked

    def shares(self, places: Ragged) -> Ragged:
        """The share of annotators who marked each word; 0 where nobody looked.

        Args:
            places: a row per document, values (words, 2).
        """
        among = np.maximum(self.annotators, 1)[places.row_of_value]
        return Ragged(self.marked(places).sum(0) / among, places.offsets)

    def majority(self, places: Ragged) -> Ragged:
        """The words that more than half of the annotators marked, as bool; a tie is not marked.

        Args:
            places: a row per document, values (words, 2).
        """
        return majority(self.shares(places))

    def moved(self, row: int, before: Places, after: Places) -> Places:
        """(spans, 3) of one document whose words stand elsewhere now.

        Args:
            row: the document.
            before: (words, 2): where its words stood.
            after: (words, 2): where the first of them stand now, in the same order.
        """
        one = Ragged.from_lengths(before[: len(after)], np.array([len(after)]))
        marked = self.take(np.array([row])).marked(one)
        return united([after[words] for words in marked])

    @cached_property
    def digest(self) -> bytes:
        """All marks as bytes, for fingerprints."""
        arrays = (self.spans.values, self.spans.offsets, self.annotators)
        return b"".join(np.ascontiguousarray(a, dtype="<i8").tobytes() for a in arrays)


def majority(shares: Ragged) -> Ragged:
    """The words that more than half of the annotators marked, as bool; a tie is not marked."""
    return Ragged(np.asarray(shares.values, dtype=np.float64) > 0.5, shares.offsets)


def united(annotators: Sequence[Places]) -> Places:
    """(spans, 3) of one document, from each annotator's spans, (spans, 2), in any order.

    Empty spans are left out, and those that overlap or touch become one.

    >>> united([np.array([[4, 6], [0, 2], [1, 3]]), np.array([[5, 5]])]).tolist()
    [[0, 0, 3], [0, 4, 6]]
    """
    rows: list[tuple[int, int, int]] = []
    for number, spans in enumerate(annotators):
        last = None
        for start, stop in sorted(spans.tolist()):
            if start == stop:
                continue
            if last is not None and start <= rows[last][2]:
                rows[last] = (number, rows[last][1], max(stop, rows[last][2]))
            else:
                last = len(rows)
                rows.append((number, start, stop))
    return np.array(rows, dtype=np.int64).reshape(-1, 3)


def joined_places(tokens: Sequence[str]) -> Places:
    """(tokens, 2): where each token stands in all of them joined by blanks.

    >>> joined_places(["a", "film"]).tolist()
    [[0, 1], [2, 6]]
    """
    lengths = np.array([len(token) for token in tokens], dtype=np.int64)
    begin = np.cumsum(lengths + 1) - lengths - 1
    return np.stack([begin, begin + lengths], axis=1)


def places_in(text: str, tokens: Sequence[str]) -> Places | None:
    """(tokens, 2): where each token stands in a text that has nothing but blanks between them.

    None where the text is another one.

    >>> places_in("A  film.", ["A", "film", "."]).tolist()
    [[0, 1], [3, 7], [7, 8]]
    """
    if " ".join(tokens) == text:
        return joined_places(tokens)
    places, end = [], 0
    for token in tokens:
        start = text.find(token, end)
        if start < 0 or text[end:start].strip():
            return None
        end = start + len(token)
        places.append((start, end))
    return None if text[end:].strip() else np.array(places, dtype=np.int64).reshape(-1, 2)
