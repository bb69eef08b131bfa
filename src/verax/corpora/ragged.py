"""Lists of different lengths in one flat array: the shape every corpus has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Ragged:
    """`values[offsets[i]:offsets[i + 1]]` is row i; offsets has one entry more than there are rows.

    >>> rows = Ragged.from_lengths(np.arange(5), np.array([2, 0, 3]))
    >>> [row.tolist() for row in rows]
    [[0, 1], [], [2, 3, 4]]
    >>> [row.tolist() for row in rows.take(np.array([2, 0]))]
    [[2, 3, 4], [0, 1]]
    """

    values: NDArray[np.generic]
    offsets: NDArray[np.int64]

    @classmethod
    def from_lengths(cls, values: NDArray[np.generic], lengths: NDArray[np.int64]) -> Ragged:
        return cls(values, np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64))

    @classmethod
    def of(cls, rows: Sequence[NDArray[np.int64]], width: int) -> Ragged:
        """From whole numbers, an array (values, width) for each row."""
        lengths = np.array([len(row) for row in rows], dtype=np.int64)
        return cls.from_lengths(np.concatenate([np.zeros((0, width), np.int64), *rows]), lengths)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> NDArray[np.generic]:
        return self.values[self.offsets[row] : self.offsets[row + 1]]

    def __iter__(self) -> Iterator[NDArray[np.generic]]:
        return (self[row] for row in range(len(self)))

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        return np.diff(self.offsets)

    @property
    def row_of_value(self) -> NDArray[np.int64]:
        """For each value, the row it stands in."""
        return np.repeat(np.arange(len(self)), self.lengths)

    def take(self, rows: NDArray[np.int64]) -> Ragged:
        """The given rows, in the given order, without a Python loop."""
        lengths = self.lengths[rows]
        within = positions_within(lengths)
        return Ragged.from_lengths(
            self.values[np.repeat(self.offsets[rows], lengths) + within], lengths
        )

    def first(self, length: int) -> Ragged:
        """The first `length` values of each row."""
        kept = positions_within(self.lengths) < length
        return Ragged.from_lengths(self.values[kept], np.minimum(self.lengths, length))

    def surround(self, first: int, last: int) -> Ragged:
        """Each row with a value put before and one after it."""
        lengths = self.lengths + 2
        surrounded = Ragged.from_lengths(
            np.empty(int(lengths.sum()), dtype=self.values.dtype), lengths
        )
        starts, ends = surrounded.offsets[:-1], surrounded.offsets[1:] - 1
        inner = np.ones(len(surrounded.values), dtype=bool)
        inner[starts] = inner[ends] = False
        surrounded.values[starts], surrounded.values[ends] = first, last
        surrounded.values[inner] = self.values
        return surrounded


def positions_within(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """0, 1, …, n−1 for each length n, one after the other.

    >>> positions_within(np.array([2, 0, 3])).tolist()
    [0, 1, 0, 1, 2]
    """
    starts = np.cumsum(lengths) - lengths
    return np.arange(int(lengths.sum()), dtype=np.int64) - np.repeat(starts, lengths)
