"""Sets of words grown one word at a time, the most promising kept: greedy choice and beam."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from verax.exams.deletion.asking import Oracle

_CELLS = 2**24
"""Bools held at once."""


def beamed(oracle: Oracle, mask: Tensor, reach: Tensor, width: int, budget: int) -> Tensor:
    """(batch, words) bool: the first set that does it as sets grow; empty where none does.

    Args:
        oracle: what is known of sets of words.
        mask: (batch, words) bool.
        reach: (batch,) long: the most words of a set that is asked about; 0 asks about none.
        width: sets kept at each size. The first of them is the greedy choice: the best word beside
            those chosen before.
        budget: sets of a document that may be asked about; a size that does not fit is not begun.
    """
    results = torch.zeros_like(mask)
    words = max(1, mask.shape[1])
    together = max(1, _CELLS // (width * words * words))
    for rows in torch.arange(len(mask), device=mask.device).split(together):
        _grow(oracle, mask, reach, width, budget, rows[reach[rows] > 0], results)
    return results


def _grow(
    oracle: Oracle,
    mask: Tensor,
    reach: Tensor,
    width: int,
    budget: int,
    rows: Tensor,
    results: Tensor,
) -> None:
    """Grow the sets of some rows, and write those that do it into `results`."""
    owner, sets = rows, mask.new_zeros(len(rows), mask.shape[1])  # the greedy choice first
    left = torch.full((len(mask),), budget, dtype=torch.long, device=mask.device)
    size = 0
    while len(owner):
        size += 1
        going = reach[owner] >= size
        owner, sets = owner[going], sets[going]
        greedy = _first_of_each(owner)
        member, word = (mask[owner] & ~sets).nonzero(as_tuple=True)
        candidates = sets[member]
        candidates[torch.arange(len(member), device=member.device), word] = True
        of, flagged = owner[member], greedy[member]
        of, candidates, flagged = _once(of, candidates, flagged)
        cost = torch.zeros_like(left).scatter_add_(0, of, oracle.is_new(of, candidates).long())
        left -= cost
        fits = left[of] >= 0
        of, candidates, flagged = of[fits], candidates[fits], flagged[fits]
        if not len(of):
            return
        margins = oracle.margins(of, candidates)
        chosen = _best(of, margins, flagged, width)
        owner, sets, margins = of[chosen], candidates[chosen], margins[chosen]
        does = (margins < 0).nonzero().squeeze(-1)
        does = does[_first_of_each(owner[does])]
        results[owner[does]] = sets[does]
        done = torch.zeros(len(mask), dtype=torch.bool, device=mask.device)
        done[owner[does]] = True
        owner, sets = owner[~done[owner]], sets[~done[owner]]


def _first_of_each(owner: Tensor) -> Tensor:
    """(sets,) bool: whether each is the first of its row; rows stand together."""
    first = torch.ones_like(owner, dtype=torch.bool)
    first[1:] = owner[1:] != owner[:-1]
    return first


def _once(rows: Tensor, sets: Tensor, flagged: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Sets that are there twice taken once, flagged where one of them is; rows stand together."""
    packed = np.packbits(sets.cpu().numpy(), axis=-1)
    numbers = rows.cpu().numpy().astype(">i8")[:, None].view(np.uint8)  # sorted by row
    joined = np.ascontiguousarray(np.concatenate([numbers, packed], axis=-1))
    keys = joined.view(np.dtype((np.void, joined.shape[1]))).ravel()
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    index = torch.from_numpy(first).to(rows.device)
    any_flag = torch.zeros(len(first), dtype=torch.bool, device=rows.device)
    place = torch.from_numpy(inverse.ravel()).to(rows.device)
    any_flag[place[flagged]] = True
    return rows[index], sets[index], any_flag


def _best(rows: Tensor, margins: Tensor, flagged: Tensor, width: int) -> Tensor:
    """Places of the sets with the lowest margins of each row, the lowest flagged one first."""
    owner, values = rows.cpu().numpy(), margins.cpu().numpy()
    marked = ~flagged.cpu().numpy()
    by_flag = np.lexsort([values, marked, owner])
    leads = np.zeros(len(owner), bool)
    starts = np.flatnonzero(np.diff(owner[by_flag], prepend=-1))
    leads[by_flag[starts]] = True
    order = np.lexsort([values, ~leads, owner])
    ordered = owner[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=-1))
    lengths = np.diff(np.append(starts, len(ordered)))
    rank = np.arange(len(ordered)) - np.repeat(starts, lengths)
    return torch.from_numpy(order[rank < width]).to(rows.device)
