"""Sets of words whose deletion changes a decision: prefixes of rankings, and what is left of them.

Whether a set changes a decision is asked of a function `changes(rows, removed)`: (sets,) long, the
document of each set, and (sets, words) bool, its words → (sets,) bool. Sets of all documents are
asked about together.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from verax.exams.deletion.asking import Changes


def prefix_sizes(words: Tensor, steps: int) -> Tensor:
    """(steps, batch) long: how many words are taken out at each step; 0 where there is none.

    Args:
        words: (batch,) how many words each document has.
        steps: the most steps.

    Every size where a document has as many words as steps or fewer; else sizes that are evenly
    spaced, the last of them all words.

    >>> prefix_sizes(torch.tensor([2, 8]), 4).T.tolist()
    [[1, 2, 0, 0], [2, 4, 6, 8]]
    """
    step = torch.arange(1, steps + 1, device=words.device).unsqueeze(-1)
    even = torch.div(step * words, steps, rounding_mode="floor")
    return torch.where(words <= steps, torch.where(step <= words, step, 0), even)


def places_of(orders: Tensor) -> Tensor:
    """(…, words) positions, most important first → (…, words) the place of each word in them."""
    places = torch.arange(orders.shape[-1], device=orders.device).expand_as(orders)
    return torch.empty_like(orders).scatter_(-1, orders, places)


def first_changes(orders: Tensor, mask: Tensor, sizes: Tensor, changes: Changes) -> Tensor:
    """(rankings, batch) long: the first size at which each ranking changes the decision, or −1.

    Args:
        orders: (rankings, batch, words) positions, most important first, what is masked last.
        mask: (batch, words) bool.
        sizes: (steps, batch) as `prefix_sizes` gives them.
        changes: whether sets change their documents' decisions.

    A ranking that has changed a decision is not asked about again.
    """
    places = places_of(orders)
    first = torch.full(orders.shape[:2], -1, dtype=torch.long, device=orders.device)
    for size in sizes:
        ranking, row = ((first < 0) & (size > 0)).nonzero(as_tuple=True)
        if not len(row):
            break
        removed = (places[ranking, row] < size[row].unsqueeze(-1)) & mask[row]
        changed = once_each(row, removed, changes)
        first[ranking[changed], row[changed]] = size[row[changed]]
    return first


def best_prefix(orders: Tensor, mask: Tensor, first: Tensor) -> Tensor:
    """(batch, words) bool: the shortest prefix that changes a decision, of equals the first
    ranking's; empty where none does.

    orders  (rankings, batch, words)
    first   (rankings, batch) as `first_changes` gives it
    """
    size, ranking = torch.where(first < 0, orders.shape[-1] + 1, first).min(0)
    rows = torch.arange(len(ranking), device=ranking.device)
    taken = places_of(orders[ranking, rows]) < size.unsqueeze(-1)
    return taken & mask & (size <= orders.shape[-1]).unsqueeze(-1)


def once_each(rows: Tensor, removed: Tensor, changes: Changes) -> Tensor:
    """(sets,) bool: `changes` of sets of which some are the same, each asked about once."""
    packed = np.packbits(removed.cpu().numpy(), axis=-1)
    numbers = rows.cpu().numpy().astype(np.int64)[:, None].view(np.uint8)
    keys = np.ascontiguousarray(np.concatenate([numbers, packed], axis=-1))
    whole = keys.view(np.dtype((np.void, keys.shape[1]))).ravel()
    _, chosen, inverse = np.unique(whole, return_index=True, return_inverse=True)
    index = torch.from_numpy(chosen).to(rows.device)
    answers = changes(rows[index], removed[index])
    return answers[torch.from_numpy(inverse.ravel()).to(rows.device)]


def pruned(members: Tensor, changes: Changes) -> Tensor:
    """(batch, words) bool: sets of which no word can return without the decision changing back.

    Args:
        members: (batch, words) bool: sets that change the decision; empty ones stay as they are.
        changes: whether sets change their documents' decisions.

    Words that can return singly are tried all at once, then the first half of them, and so on, and
    what has returned is followed by another look at those left.
    """
    members = members.clone()
    unsettled = members.any(-1)
    while bool(unsettled.any()):
        rows, words = (members & unsettled.unsqueeze(-1)).nonzero(as_tuple=True)
        removed = members[rows]
        removed[torch.arange(len(rows), device=rows.device), words] = False
        can_return = torch.zeros_like(members)
        can_return[rows, words] = changes(rows, removed) & removed.any(-1)
        unsettled &= can_return.any(-1)
        trying, waiting = can_return, unsettled.clone()
        while bool(waiting.any()):
            (rows,) = waiting.nonzero(as_tuple=True)
            left = members[rows] & ~trying[rows]
            returned = trying[rows].sum(-1) == 1  # one word was asked about above
            several = ~returned & left.any(-1)
            if bool(several.any()):
                returned[several] = changes(rows[several], left[several])
            members[rows[returned]] = left[returned]
            waiting[rows[returned]] = False
            count = trying.sum(-1, keepdim=True)
            trying = trying & (trying.cumsum(-1) <= torch.div(count, 2, rounding_mode="floor"))
    return members
