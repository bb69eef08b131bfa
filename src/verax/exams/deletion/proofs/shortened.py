"""Deleted words under a convolution: a dynamic programme over the words that are kept.

The state of a kept word depends on the two kept words before it and the two behind. So the lowest
sum for so many deletions follows, from one kept word to the next, from the lowest sums by the last
four kept words. With at most K deletions these are gaps that sum to K at most.
"""

from __future__ import annotations

from itertools import product
from math import comb
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from verax.exams.deletion.proofs.proof import Proof, room, terms
from verax.exams.deletion.proofs.windows import Windows
from verax.models.trace import Trace

MOST = 7
"""The most deletions that are counted."""
_CELLS = 2**22
"""Numbers of states that are held at once."""
_BEFORE, _BEHIND = 4, 2
"""Places around the words: zeros, or SOS and EOS beside the text, that are never deleted."""


def deletions_within(budget: int) -> int:
    """How many deletions a budget of passes allows: a word has so many windows as a pass each."""
    return max((k for k in range(MOST + 1) if comb(k + 4, 4) <= budget), default=0)


def proof(
    model: Any,
    trace: Trace,
    rows: Tensor,
    decision: Tensor,
    reach: Tensor | None,
    budget: int,
    max_tokens: int,
) -> Proof:
    """See `proof_of`. The lower bound is K + 1 where no K deletions change the decision."""
    windows = Windows(model)
    mask = trace.mask[rows]
    counts = mask.sum(-1)
    most = (counts - 1 if reach is None else torch.minimum(counts - 1, reach)).clamp(
        max=deletions_within(budget)
    )
    lower = torch.ones_like(counts)
    tried = mask.new_zeros(2, *mask.shape)
    first = int(model.boundaries)
    vectors = trace.embedded[rows] * trace.token_mask[rows].unsqueeze(-1)
    for words, k in torch.stack([counts, most], -1).unique(dim=0).tolist():
        if k < 1:
            continue
        (alike,) = ((counts == words) & (most == k)).nonzero(as_tuple=True)
        read = functional.pad(
            vectors[alike, : words + 2 * first],
            (0, 0, _BEFORE - first, _BEHIND - first),
        )
        scalars = words * (k + 1) ** 4
        for some in torch.arange(len(alike), device=alike.device).split(
            max(1, 128 * max_tokens // scalars)
        ):
            chosen = alike[some]
            sizes, sets = _fewest(windows, read[some], decision[chosen], words, k)
            lower[chosen] = sizes
            tried[:, chosen, first : first + words] = sets
    return Proof(lower, tried)


def _fewest(
    windows: Windows, read: Tensor, decision: Tensor, words: int, most: int
) -> tuple[Tensor, Tensor]:
    """(rows,) a lower bound, and (2, rows, words) bool sets that may change the decision."""
    gaps = [g for g in product(range(most + 1), repeat=4) if sum(g) <= most]
    scores, logits = _windows(windows, read, words, gaps)
    inside = _possible(words, gaps, read.device).expand(scores.shape)
    values, weights = terms(scores, logits, decision, inside)
    slack = room(logits, inside).view(-1, 1, 1)
    parts = []
    for sign in (1, -1):  # what is possible, then what is sure
        dense = _dense(values - sign * slack * weights, inside, gaps, most)
        parts.append(fewest_deletions(dense, decision))
    return parts[0][0], torch.stack([part[1] for part in parts])


def _windows(
    windows: Windows, read: Tensor, words: int, gaps: list[tuple[int, ...]]
) -> tuple[Tensor, Tensor]:
    """Scores (rows, words, gaps) and item logits of each word for each way to delete around it."""
    taps = windows.taps(read)
    last = read.shape[1] - 1
    centre = torch.arange(words, device=read.device)[:, None] + _BEFORE
    every = torch.tensor(gaps, device=read.device)
    together = max(1, _CELLS // (len(read) * words * windows.size))
    parts = []
    for g in every.split(together):
        places = {0: centre.expand(words, len(g)), -1: centre - 1 - g[:, 1]}
        places |= {1: centre + 1 + g[:, 2], -2: places[-1] - 1 - g[:, 0]}
        places |= {2: places[1] + 1 + g[:, 3]}
        clamped = {o: place.clamp(0, last) for o, place in places.items()}
        sums = []
        for by in taps:
            total = by[0][:, clamped[0]]
            for o in by:
                total = total if o == 0 else total.add_(by[o][:, clamped[o]])
            sums.append(total)
        parts.append(windows.read(sums, read[:, clamped[0]]))
    return torch.cat([part[0] for part in parts], 2), torch.cat([part[1] for part in parts], 2)


def _possible(words: int, gaps: list[tuple[int, ...]], device: torch.device) -> Tensor:
    """(1, words, gaps) bool: whether gaps around a word are of words alone."""
    every = torch.tensor(gaps, device=device)
    word = torch.arange(words, device=device).unsqueeze(-1)
    before = word - every[:, 1]  # words left before the nearer gap
    further = torch.where(before == 0, every[:, 0] == 0, before - 1 - every[:, 0] >= 0)
    behind = words - 1 - word - every[:, 2]
    beyond = torch.where(behind == 0, every[:, 3] == 0, behind - 1 - every[:, 3] >= 0)
    return ((before >= 0) & further & (behind >= 0) & beyond).unsqueeze(0)


def _dense(values: Tensor, inside: Tensor, gaps: list[tuple[int, ...]], most: int) -> Tensor:
    """(classes, rows, words, gaps) terms → (classes, rows, words, g1, g2, g3, g4), else ∞."""
    side = most + 1
    classes, rows, words, _ = values.shape
    dense = values.new_full((classes, rows, words, side**4), torch.inf)
    places = [((g[0] * side + g[1]) * side + g[2]) * side + g[3] for g in gaps]
    dense[..., places] = torch.where(inside, values, torch.inf)
    return dense.view(classes, rows, words, side, side, side, side)


def fewest_deletions(values: Tensor, decision: Tensor) -> tuple[Tensor, Tensor]:
    """The fewest words to delete for some class's sum over the words left to be below 0.

    Args:
        values: (classes, rows, words, K + 1, K + 1, K + 1, K + 1): a word's term by how many words
            are deleted between it and the two kept before it, the nearest second, and the two
            behind it, the nearest first; ∞ where there are no such words.
        decision: (rows,) long: the class whose sum does not count.

    Returns:
        (rows,) the size, K + 1 where no K deletions will do, 1 where a term is NaN; and
        (rows, words) bool, such words.
    """
    classes, rows, words, side = values.shape[:4]
    lowest = _lowest_sums(values)
    ends = lowest[-1].flatten(3).amin(-1)  # (classes, rows, deletions)
    does = ends < 0
    does[..., 0] = False
    size = torch.where(does.any(-1), does.long().argmax(-1), side)
    unknown = values.isnan().flatten(2).any(-1)
    size = torch.where(unknown, 1, size)
    is_decision = functional.one_hot(decision, classes).T.bool()
    best, rival = torch.where(is_decision, side, size).min(0)
    usable = (best < side) & ~unknown.any(0)
    deleted = torch.zeros(rows, words, dtype=torch.bool, device=values.device)
    for row in usable.nonzero().squeeze(-1).tolist():
        places = _traced(
            [one[rival[row], row] for one in lowest], values[rival[row], row], best[row]
        )
        deleted[row, places] = True
    return best, deleted


def _lowest_sums(values: Tensor) -> list[Tensor]:
    """For each place, as the last that is kept, the lowest sums: (classes, rows, k, g1, g2, g3).

    k counts deletions so far, g1 to g3 those between the last four kept. Places are the last before
    the words, the words, and the two behind.
    """
    classes, rows, words, side = values.shape[:4]
    empty = values.new_full((classes, rows, side, side, side, side), torch.inf)
    sums = [empty.clone() for _ in range(1 + words + _BEHIND)]
    sums[0][:, :, 0, 0, 0, 0] = 0.0
    for place in range(len(sums) - 1):
        for gap in range(side):
            after = place + 1 + gap
            if not _allowed(place, after, words):
                continue
            # (classes, rows, k, g1, g2, g3)
            ways = sums[place] + _added(values, place, gap).unsqueeze(2)
            best = ways.amin(3)  # over g1: (classes, rows, k, g2, g3)
            target = sums[after][:, :, gap:, :, :, gap]
            target.copy_(torch.minimum(target, best[:, :, : side - gap]))
    return sums


def _allowed(place: int, after: int, words: int) -> bool:
    """Whether all between two places are words; places are counted as in `_lowest_sums`."""
    if after > words + _BEHIND:
        return False
    return after == place + 1 or (after - 1 <= words)


def _added(values: Tensor, place: int, gap: int) -> Tensor:
    """(classes, rows, g1, g2, g3): the term that is known once the next kept word is `gap` on.

    It is of the kept word before `place`, g3 deletions back; 0 where that is no word.
    """
    classes, rows, words, side = values.shape[:4]
    added = values.new_zeros(classes, rows, side, side, side)
    for back in range(side):
        centre = place - 2 - back  # as a number of a word
        if 0 <= centre < words:
            added[..., back] = values[:, :, centre, :, :, back, gap]
    return added


def _traced(lowest: list[Tensor], values: Tensor, size: Tensor) -> list[int]:
    """The words deleted on the way to the lowest sum of one document and class."""
    words, side = values.shape[:2]
    place, k = len(lowest) - 1, int(size)
    g2, g3, g4 = (int(g) for g in np.unravel_index(int(lowest[-1][k].argmin()), (side,) * 3))
    deleted: list[int] = []
    while place > 0:
        before = place - 1 - g4
        deleted += [number - 1 for number in range(before + 1, place)]
        centre = before - 2 - g3
        ways = lowest[before][k - g4, :, g2, g3]
        if 0 <= centre < words:
            ways = ways + values[centre, :, g2, g3, g4]
        place, k = before, k - g4
        g2, g3, g4 = int(ways.argmin()), g2, g3
    return deleted
