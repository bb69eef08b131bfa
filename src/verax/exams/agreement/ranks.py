"""How far two importances rank the positions of a document alike: τ-b, Spearman's ρ, the top k.

Work is done on the CPU, some rows at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from torch import Tensor

from verax.errors import VeraxError
from verax.exams.agreement.counting import (
    Bools,
    Floats,
    Ints,
    PairCounts,
    count_pairs,
    keys_of,
    sorted_ranks,
)
from verax.exams.agreement.significance import p_values

REASONS = ("defined", "one position", "first constant", "second constant", "not a number")
"""What the codes of `undefined` stand for; "one position" is said where there is none, too."""

_ELEMENTS = 2**15
"""Positions worked on at once: what is kept of each stays in a core's cache, and twice a rank in
sixteen bits."""


def kendall_tau_b(a: Tensor, b: Tensor, mask: Tensor) -> Tensor:
    """Kendall's τ-b between each row of `a` and the same row of `b`, (batch,) float64.

    Args:
        a: (batch, positions), floating point; infinities are numbers like others.
        b: (batch, positions), floating point.
        mask: (batch, positions) bool; values where it is False are ignored.

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


def kendall_p_value(a: Tensor, b: Tensor, mask: Tensor) -> Tensor:
    """The two-sided p-value of each row's τ-b against no association, (batch,) float64.

    Args:
        a, b, mask: as in `kendall_tau_b`.

    It is what `scipy.stats.kendalltau` gives: exact without ties for up to 33 positions, and where
    at most one pair is out of order or in order; else by the normal approximation, with the
    variance that ties leave. It is NaN where τ-b is.
    """
    return kendall_test(a, b, mask)[1]


def kendall_test(a: Tensor, b: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """`kendall_tau_b` and `kendall_p_value`, from one count of pairs."""
    tau, p = _by_rows(_tested, a, b, mask, (2,))
    return tau, p


def spearman(a: Tensor, b: Tensor, mask: Tensor) -> Tensor:
    """Spearman's ρ between each row of `a` and the same row of `b`, (batch,) float64.

    It is Pearson's correlation of ranks; equals share their mean rank. All sums are exact. It is
    NaN where τ-b is.

    Args:
        a, b, mask: as in `kendall_tau_b`.
    """
    return _by_rows(_spearman, a, b, mask)


def top_k_overlap(a: Tensor, b: Tensor, k: int, mask: Tensor) -> Tensor:
    """The share of the top k that two rows have in common, (batch,) float64.

    It is |top k of a ∩ top k of b| / min(k, n) for a row of n positions. Of equals at the border
    the earlier position is in. NaN for a row without positions or with NaN at one; a constant row
    is ranked by position.

    Args:
        a, b, mask: as in `kendall_tau_b`.
        k: how many positions to compare, at least 1.
    """
    if k < 1:
        raise VeraxError(
            f"k is {k}, expected at least 1: how many positions to compare",
            code="option.out-of-range",
        )
    return _by_rows(partial(_overlap, k), a, b, mask)


def undefined(a: Tensor, b: Tensor, mask: Tensor) -> Tensor:
    """Why τ-b and ρ have no value, as an index of `REASONS`, (batch,) int8; 0 where they have one.

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
    for name, tensor in (("a", a), ("b", b), ("mask", mask)):
        if not isinstance(tensor, torch.Tensor):
            raise VeraxError(
                f"{name} is a {type(tensor).__name__}, expected a torch.Tensor",
                code="tensor.wrong-shape",
            )
    if mask.dtype != torch.bool or mask.dim() != 2:
        raise VeraxError(
            f"mask is {mask.dtype} of shape {tuple(mask.shape)}, expected torch.bool of shape "
            "(batch, positions): True where there is a position to rank",
            code="tensor.wrong-shape",
        )
    for name, tensor in (("a", a), ("b", b)):
        if tensor.shape != mask.shape or not tensor.is_floating_point():
            raise VeraxError(
                f"{name} is {tensor.dtype} of shape {tuple(tensor.shape)}, expected floating-point "
                f"numbers of shape {tuple(mask.shape)} as mask",
                code="tensor.wrong-shape",
            )


def _step(mask: Tensor) -> int:
    """Rows to work on at once."""
    return max(1, _ELEMENTS // max(1, mask.shape[1]))


def _by_rows(
    measure: Callable[[Ints, Ints, Bools], Floats],
    a: Tensor,
    b: Tensor,
    mask: Tensor,
    several: tuple[int, ...] = (),
) -> Tensor:
    """`measure` of all rows, some at a time, from keys and mask; a row with NaN counts as empty.

    It gives a number for each row, or `several`: (*several, rows).
    """
    _check(a, b, mask)
    batch, width = mask.shape
    measures = np.full((*several, batch), np.nan)
    numbers, others, places = (t.detach().cpu() for t in (a, b, mask))
    step = _step(mask)
    for first in range(0, batch if width else 0, step):
        rows = slice(first, first + step)
        x, y = (t[rows].double().contiguous().numpy() for t in (numbers, others))
        inside = places[rows].contiguous().numpy()
        nan = (np.isnan(x) | np.isnan(y)) & inside
        if nan.any():
            inside = inside & ~nan.any(-1, keepdims=True)
        with np.errstate(invalid="ignore"):  # 0 / 0: not defined
            measures[..., rows] = measure(keys_of(x, inside), keys_of(y, inside), inside)
    measures[np.isnan(measures)] = (
        np.nan
    )  # always the same bits: the sign of 0 / 0 is the machine's
    return torch.from_numpy(measures).to(a.device)


def _kendall(a: Ints, b: Ints, mask: Bools) -> Floats:
    return _tau(count_pairs(a, b, mask))


def _tested(a: Ints, b: Ints, mask: Bools) -> Floats:
    """(2, rows): τ-b and its p-value."""
    counts = count_pairs(a, b, mask, triples=True)
    return np.stack([_tau(counts), p_values(counts)])


def _tau(counts: PairCounts) -> Floats:
    untied_a, untied_b = counts.pairs - counts.tied_a, counts.pairs - counts.tied_b
    return counts.balance / np.sqrt(untied_a.astype(float) * untied_b)


def _spearman(a: Ints, b: Ints, mask: Bools) -> Floats:
    x, y = (_centred_ranks(keys, mask) for keys in (a, b))
    return (x * y).sum(-1) / np.sqrt((x * x).sum(-1).astype(float) * (y * y).sum(-1))


def _overlap(k: int, a: Ints, b: Ints, mask: Bools) -> Floats:
    size = np.minimum(k, np.count_nonzero(mask, axis=-1))
    shared = _top(a, size, mask) & _top(b, size, mask)
    return np.count_nonzero(shared, axis=-1) / size


def _top(keys: Ints, size: Ints, mask: Bools) -> Bools:
    """The `size` (rows,) highest of each row, of equals the earlier."""
    border = np.count_nonzero(mask, axis=-1) - size
    lowest = np.take_along_axis(np.sort(keys, -1), border[:, None], -1)
    above, level = (keys > lowest) & mask, keys == lowest
    room = size - np.count_nonzero(above, axis=-1)
    return above | (level & (level.cumsum(-1) <= room[:, None]))


def _centred_ranks(keys: Ints, mask: Bools) -> Ints:
    """Twice the mean rank of a key's equals, less twice the row's mean rank; 0 where masked."""
    ranks, places, runs = sorted_ranks(keys)
    first_plus_last = 2 * runs.cumsum() - runs - 1
    centred = np.empty_like(keys)
    centred.reshape(-1)[places] = first_plus_last.take(ranks)
    starts = np.arange(0, keys.size, keys.shape[1])
    centred -= (2 * starts + np.count_nonzero(mask, axis=-1) - 1)[:, None]
    centred *= mask
    return centred
