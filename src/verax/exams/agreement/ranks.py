"""How far two importances rank the positions of a document alike: τ-b, Spearman's ρ, the top k.

Work is done on the CPU in NumPy, whose sort is vectorised, some rows at a time. A number x becomes
an integer key in the same order, and what the mask leaves out the key of NaN, above all others.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from verax.errors import VeraxError

REASONS = ("defined", "one position", "first constant", "second constant", "not a number")
"""What the codes of `undefined` stand for; "one position" is said where there is none, too."""

_ELEMENTS = 2**15
"""Positions worked on at once: what is kept of each stays in a core's cache, and twice a rank in
sixteen bits."""
_BLOCK = 32
"""Up to so many positions it is faster to compare all pairs than to merge."""

Ints = NDArray[np.integer[Any]]
Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]


def kendall_tau_b(a: Tensor, b: Tensor, mask: Tensor) -> Tensor:
    """(batch,) float64: Kendall's τ-b between each row of `a` and the same row of `b`.

    a, b  (batch, positions), floating point; infinities are numbers like others
    mask  (batch, positions) bool; what stands where it is False is ignored

    Of n0 pairs of positions n1 are tied in a, n2 in b, n12 in both, and Q are in opposite order:

        τ = (n0 − n1 − n2 + n12 − 2Q) / √((n0 − n1) (n0 − n2))

    All counts are exact, in O(positions · log positions). NaN where it is not defined: `undefined`
    says why.

    >>> a = torch.tensor([[0.1, 0.2, 0.3, 0.9]])
    >>> b = torch.tensor([[1.0, 3.0, 2.0, torch.nan]])
    >>> kendall_tau_b(a, b, torch.tensor([[True, True, True, False]]))
    tensor([0.3333], dtype=torch.float64)
    """
    return _by_rows(_kendall, a, b, mask)


def spearman(a: Tensor, b: Tensor, mask: Tensor) -> Tensor:
    """(batch,) float64: Spearman's ρ, Pearson's correlation of ranks; equals share their mean rank.

    Arguments, and where it is NaN, as in `kendall_tau_b`. All sums are exact.
    """
    return _by_rows(_spearman, a, b, mask)


def top_k_overlap(a: Tensor, b: Tensor, k: int, mask: Tensor) -> Tensor:
    """(batch,) float64: |top k of a ∩ top k of b| / min(k, n), for a row of n positions.

    Of equals at the border the earlier position is in. NaN for a row without positions or with NaN
    at one; a constant row is ranked by position. Other arguments as in `kendall_tau_b`.
    """
    if k < 1:
        raise VeraxError(f"k is {k}, expected at least 1: how many positions to compare")
    return _by_rows(partial(_overlap, k), a, b, mask)


def undefined(a: Tensor, b: Tensor, mask: Tensor) -> Tensor:
    """(batch,) int8: why τ-b and ρ have no value, as an index of `REASONS`; 0 where they have one.

    The first to hold of: fewer than two positions, NaN at one, a constant, b constant.
    """
    _check(a, b, mask)
    together = (t.detach().to(a.device).split(_step(mask)) for t in (a, b, mask))
    return torch.cat([_reasons(*rows) for rows in zip(*together, strict=True)])


def _reasons(a: Tensor, b: Tensor, mask: Tensor) -> Tensor:
    codes = torch.ones(len(mask), dtype=torch.int8, device=mask.device)
    if mask.shape[1] < 2:
        return codes
    nan, constant = [], []
    for values in (a, b):
        nan.append((values.isnan() & mask).any(-1))
        lowest = values.masked_fill(~mask, torch.inf).amin(-1)
        constant.append(values.masked_fill(~mask, -torch.inf).amax(-1) <= lowest)
    codes.zero_()
    for code, holds in ((3, constant[1]), (2, constant[0]), (4, nan[0] | nan[1])):
        codes[holds] = code
    codes[mask.sum(-1) < 2] = 1
    return codes


def _check(a: Tensor, b: Tensor, mask: Tensor) -> None:
    for name, given in (("a", a), ("b", b), ("mask", mask)):
        if not isinstance(given, torch.Tensor):
            raise VeraxError(f"{name} is a {type(given).__name__}, expected a torch.Tensor")
    if mask.dtype != torch.bool or mask.dim() != 2:
        raise VeraxError(
            f"mask is {mask.dtype} of shape {tuple(mask.shape)}, expected torch.bool of shape "
            "(batch, positions): True where there is a position to rank"
        )
    for name, given in (("a", a), ("b", b)):
        if given.shape != mask.shape or not given.is_floating_point():
            raise VeraxError(
                f"{name} is {given.dtype} of shape {tuple(given.shape)}, expected floating-point "
                f"numbers of shape {tuple(mask.shape)} as mask"
            )


def _step(mask: Tensor) -> int:
    """Rows to work on at once."""
    return max(1, _ELEMENTS // max(1, mask.shape[1]))


def _by_rows(
    measure: Callable[[Ints, Ints, Bools], Floats], a: Tensor, b: Tensor, mask: Tensor
) -> Tensor:
    """What `measure` makes of keys and mask, some rows at a time; to it a row with NaN is empty."""
    _check(a, b, mask)
    batch, width = mask.shape
    found = np.full(batch, np.nan)
    numbers, others, places = (t.detach().cpu() for t in (a, b, mask))
    step = _step(mask)
    for first in range(0, batch if width else 0, step):
        rows = slice(first, first + step)
        x, y = (t[rows].double().contiguous().numpy() for t in (numbers, others))
        there = places[rows].contiguous().numpy()
        nan = (np.isnan(x) | np.isnan(y)) & there
        if nan.any():
            there = there & ~nan.any(-1, keepdims=True)
        with np.errstate(invalid="ignore"):  # 0 / 0: not defined
            found[rows] = measure(_keys(x, there), _keys(y, there), there)
    found[np.isnan(found)] = np.nan  # always the same bits: the sign of 0 / 0 is the machine's
    return torch.from_numpy(found).to(a.device)


def _keys(values: Floats, there: Bools) -> Ints:
    """Integers in the order of float64: its bits, all but the sign's turned over where negative."""
    kept = np.where(there, values, np.nan)
    kept += 0.0  # −0 becomes 0
    bits = kept.view(np.int64)
    turned = bits >> 63
    turned &= np.iinfo(np.int64).max
    bits ^= turned
    return bits


def _kendall(a: Ints, b: Ints, there: Bools) -> Floats:
    count = np.count_nonzero(there, axis=-1)
    pairs, masked_pairs = _pairs(count), _pairs(a.shape[1] - count)
    by_a, places, runs = _sorted(a)
    ties_a = _ties(by_a, runs) - masked_pairs
    by_b, places, runs = _sorted(b.take(places))
    ties_b = _ties(by_b, runs) - masked_pairs
    ties_both = np.zeros_like(ties_b)
    # ranks by a, in the order of b, and of a where b ties: what falls is in opposite order
    ranks = by_a.take(places)
    if ties_b.any():
        by_b *= b.size
        ranks += by_b
        ranks.sort(-1)
        ties_both = _ties(*_runs(ranks)) - masked_pairs
        ranks -= by_b
    same_less_opposite = pairs - ties_a - ties_b + ties_both - 2 * _inversions(ranks)
    return same_less_opposite / np.sqrt((pairs - ties_a).astype(float) * (pairs - ties_b))


def _spearman(a: Ints, b: Ints, there: Bools) -> Floats:
    x, y = (_centred_ranks(keys, there) for keys in (a, b))
    return (x * y).sum(-1) / np.sqrt((x * x).sum(-1).astype(float) * (y * y).sum(-1))


def _overlap(k: int, a: Ints, b: Ints, there: Bools) -> Floats:
    size = np.minimum(k, np.count_nonzero(there, axis=-1))
    shared = _top(a, size, there) & _top(b, size, there)
    return np.count_nonzero(shared, axis=-1) / size


def _top(keys: Ints, size: Ints, there: Bools) -> Bools:
    """The `size` (rows,) highest of each row, of equals the earlier."""
    border = np.count_nonzero(there, axis=-1) - size
    lowest = np.take_along_axis(np.sort(keys, -1), border[:, None], -1)
    above, level = (keys > lowest) & there, keys == lowest
    room = size - np.count_nonzero(above, axis=-1)
    return above | (level & (level.cumsum(-1) <= room[:, None]))


def _centred_ranks(keys: Ints, there: Bools) -> Ints:
    """Twice the mean rank of a key's equals, less twice the row's mean rank; 0 where masked."""
    ranks, places, runs = _sorted(keys)
    first_plus_last = 2 * runs.cumsum() - runs - 1
    found = np.empty_like(keys)
    found.reshape(-1)[places] = first_plus_last.take(ranks)
    starts = np.arange(0, keys.size, keys.shape[1])
    found -= (2 * starts + np.count_nonzero(there, axis=-1) - 1)[:, None]
    found *= there
    return found


def _sorted(keys: Ints) -> tuple[Ints, Ints, Ints]:
    """Ranks of each row in order, where in the flat array they came from, and runs as in `_runs`.

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
    ranks, runs = _runs(ordered)
    return ranks, places, runs


def _runs(ordered: Ints) -> tuple[Ints, Ints]:
    """Dense ranks of sorted rows, going on from row to row, and how many keys have each rank."""
    new = _with_last(np.not_equal, ordered)
    new[:, 0] = True
    # the square of 2¹⁵, for a rank by each of two importances, fits in 32 bits
    ranks = new.cumsum(dtype=np.int32 if new.size <= 2**15 else np.int64).reshape(new.shape)
    ranks -= 1
    return ranks, np.diff(np.flatnonzero(new), append=new.size)


def _with_last(compare: np.ufunc, ordered: Ints) -> Bools:
    """Each key compared with the one before it in its row, False for the first."""
    found = np.empty(ordered.shape, dtype=bool)
    flat = ordered.reshape(-1)  # across the ends of rows: one long loop, not many short ones
    compare(flat[1:], flat[:-1], out=found.reshape(-1)[1:])
    found[:, 0] = False
    return found


def _ties(ranks: Ints, runs: Ints) -> Ints:
    """(rows,): pairs of equals, (Σ t² − n) / 2 over the lengths t of a row's runs."""
    return (np.add.reduceat(runs * runs, ranks[:, 0]) - ranks.shape[1]) // 2


def _pairs(count: Ints) -> Ints:
    return count * (count - 1) // 2


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
    found = _compared(blocks.reshape(-1, block)).reshape(rows, -1).sum(-1)
    while block < blocks.shape[1]:
        blocks.reshape(-1, 2, block)[:, 1] |= 1
        merged = blocks.reshape(rows, -1, 2 * block)
        merged.sort(-1, kind="stable" if block >= 512 else None)  # by radix, where that is faster
        right = merged & 1
        # before the i-th of the right half stand i of its own and all of the left not above it
        before = right.sum(1, dtype=float) @ np.arange(2.0 * block)
        found += right.shape[1] * (block * block + _pairs(block)) - before.astype(np.int64)
        merged -= right
        block *= 2
    return found


def _compared(ranks: Ints) -> Ints:
    """Inversions of rows of up to 256, over all rows at once for each distance between two."""
    width = ranks.shape[1]
    columns = np.ascontiguousarray(ranks.T)
    found = np.zeros(columns.shape, dtype=np.uint8)
    higher = np.empty(columns.shape, dtype=bool)
    for apart in range(1, width):
        firsts = width - apart
        np.greater(columns[:firsts], columns[apart:], out=higher[:firsts])
        found[:firsts] += higher[:firsts].view(np.uint8)
    return found.sum(0, dtype=np.int64)
