"""Pairs of positions that two importances order alike, counted exactly, for many rows at once.

Work is done on the CPU in NumPy, whose sort is vectorised. A number x becomes an integer key in the
same order, and what the mask leaves out the key of NaN, above all others.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

_BLOCK = 32
"""Up to so many positions it is faster to compare all pairs than to merge."""

Ints = NDArray[np.integer[Any]]
Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]


class PairCounts(NamedTuple):
    """Of each row, all (rows,).

    positions              n
    pairs                  n (n − 1) / 2
    tied_a, tied_b         pairs that are equal by a, by b
    triples_a, triples_b   the same of three positions; zeros where they were not asked for
    balance                pairs in the same order by both, less those in opposite order
    """

    positions: Ints
    pairs: Ints
    tied_a: Ints
    tied_b: Ints
    triples_a: Ints
    triples_b: Ints
    balance: Ints


def keys_of(values: Floats, mask: Bools) -> Ints:
    """Integers in the order of float64: its bits, all but the sign's turned over where negative."""
    kept = np.where(mask, values, np.nan)
    kept += 0.0  # −0 becomes 0
    bits = kept.view(np.int64)
    turned = bits >> 63
    turned &= np.iinfo(np.int64).max
    bits ^= turned
    return bits


def count_pairs(a: Ints, b: Ints, mask: Bools, triples: bool = False) -> PairCounts:
    """The counts that Kendall's τ-b is made of, and with `triples` its variance, too.

    a, b   (rows, positions) keys, as `keys_of` makes them with the same mask
    """
    count = np.count_nonzero(mask, axis=-1)
    masked = a.shape[1] - count
    pairs, masked_pairs = pairs_of(count), pairs_of(masked)
    triples_a = triples_b = np.zeros_like(pairs)
    by_a, places, runs = sorted_ranks(a)
    tied_a = _tied_pairs(by_a, runs) - masked_pairs
    if triples:
        triples_a = _tied_triples(by_a, runs) - _triples_of(masked)
    by_b, places, runs = sorted_ranks(b.take(places))
    tied_b = _tied_pairs(by_b, runs) - masked_pairs
    if triples:
        triples_b = _tied_triples(by_b, runs) - _triples_of(masked)
    tied_both = np.zeros_like(tied_b)
    # ranks by a, in the order of b, and of a where b ties: what falls is in opposite order
    ranks = by_a.take(places)
    if tied_b.any():
        by_b *= b.size
        ranks += by_b
        ranks.sort(-1)
        tied_both = _tied_pairs(*runs_of(ranks)) - masked_pairs
        ranks -= by_b
    balance = pairs - tied_a - tied_b + tied_both - 2 * _inversions(ranks)
    return PairCounts(count, pairs, tied_a, tied_b, triples_a, triples_b, balance)


def sorted_ranks(keys: Ints) -> tuple[Ints, Ints, Ints]:
    """Ranks of each row in order, where in the flat array they came from, and runs as in `runs_of`.

    It is several times faster to sort numbers than to sort places by them, so a key's place takes
    its lowest bits. In single precision these say nothing; rows in which they do are done again.
    """
    low = (1 << (keys.size - 1).bit_length()) - 1
    places = keys & ~low
    places |= np.arange(keys.size).reshape(keys.shape)
    places.sort(-1)
    places &= low
    ordered = keys.take(places)
    falls = _with_last(np.less, ordered)
    if falls.any():
        rows = np.flatnonzero(falls.any(-1))
        places[rows] = keys[rows].argsort(-1) + rows[:, None] * keys.shape[1]
        ordered[rows] = keys.take(places[rows])
    ranks, runs = runs_of(ordered)
    return ranks, places, runs


def runs_of(ordered: Ints) -> tuple[Ints, Ints]:
    """Dense ranks of sorted rows, going on from row to row, and how many keys have each rank."""
    new = _with_last(np.not_equal, ordered)
    new[:, 0] = True
    # the square of 2¹⁵, for a rank by each of two importances, fits in 32 bits
    ranks = new.cumsum(dtype=np.int32 if new.size <= 2**15 else np.int64).reshape(new.shape)
    ranks -= 1
    return ranks, np.diff(np.flatnonzero(new), append=new.size)


def _with_last(compare: np.ufunc, ordered: Ints) -> Bools:
    """Each key compared with the one before it in its row, False for the first."""
    result = np.empty(ordered.shape, dtype=bool)
    flat = ordered.reshape(-1)  # across the ends of rows: one long loop, not many short ones
    compare(flat[1:], flat[:-1], out=result.reshape(-1)[1:])
    result[:, 0] = False
    return result


def pairs_of(count: Ints) -> Ints:
    """C(count, 2)."""
    return count * (count - 1) // 2


def _triples_of(count: Ints) -> Ints:
    return count * (count - 1) * (count - 2) // 6


def _tied_pairs(ranks: Ints, runs: Ints) -> Ints:
    """(rows,): pairs of equals, (Σ t² − n) / 2 over the lengths t of a row's runs."""
    return (np.add.reduceat(runs * runs, ranks[:, 0]) - ranks.shape[1]) // 2


def _tied_triples(ranks: Ints, runs: Ints) -> Ints:
    """(rows,): Σ C(t, 3) over the lengths t of a row's runs."""
    return np.add.reduceat(_triples_of(runs), ranks[:, 0])


def _inversions(ranks: Ints) -> Ints:
    """(rows,): pairs of which the first has the higher rank. Within blocks by comparing all pairs,
    between them by merging, two at a time.
    """
    rows, width = ranks.shape
    levels = ((width - 1) // _BLOCK).bit_length()
    block = -(-width >> levels)
    # ranks are doubled, for a bit that tells the right half of a merge
    highest = 2 * (ranks.size - 1)
    blocks = np.full((rows, block << levels), highest, np.uint16 if highest < 2**16 else np.int64)
    np.multiply(ranks, 2, out=blocks[:, :width], casting="unsafe")
    inversions = _compared(blocks.reshape(-1, block)).reshape(rows, -1).sum(-1)
    while block < blocks.shape[1]:
        blocks.reshape(-1, 2, block)[:, 1] |= 1
        merged = blocks.reshape(rows, -1, 2 * block)
        merged.sort(-1, kind="stable" if block >= 512 else None)  # by radix, where that is faster
        right = merged & 1
        # before the i-th of the right half stand i of its own and all of the left not above it
        before = right.sum(1, dtype=float) @ np.arange(2.0 * block)
        inversions += right.shape[1] * (block * block + pairs_of(block)) - before.astype(np.int64)
        merged -= right
        block *= 2
    return inversions


def _compared(ranks: Ints) -> Ints:
    """Inversions of rows of up to 256, over all rows at once for each distance between two."""
    width = ranks.shape[1]
    columns = np.ascontiguousarray(ranks.T)
    inversions = np.zeros(columns.shape, dtype=np.uint8)
    higher = np.empty(columns.shape, dtype=bool)
    for apart in range(1, width):
        firsts = width - apart
        np.greater(columns[:firsts], columns[apart:], out=higher[:firsts])
        inversions[:firsts] += higher[:firsts].view(np.uint8)
    return inversions.sum(0, dtype=np.int64)
