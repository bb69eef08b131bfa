"""The same with more than two classes, where what keeps the prediction is no polytope.

With y the class decided for, h(α') = ℓ'_y − ln Σ_{c≠y} exp ℓ'_c, its log-odds, is concave in α'. On
an edge p' ≥ p − ε therefore holds on one interval, and p' ≤ p + ε outside one: what keeps the
prediction is up to two intervals, and JSD, convex, is largest at one of their ends. An end is
where h meets a face. From an item with h below the face, Newton's steps towards another item rise
to the first meeting and never pass it, since a tangent of h lies above it; from the other item
they find the second.

From above, with h_k the log-odds of item k alone, what keeps the prediction has

    Σ α'_k h_k ≤ h(α') ≤ logit(p + ε)     and, for every rival c,
    Σ α'_k (ℓ_ky − ℓ_kc) ≥ h(α') ≥ logit(p − ε)

Each is a half-space whose farthest point is found as for two classes; the nearest of them is a
bound, and so is the farthest vertex.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from verax.budget import parts_within
from verax.divergence import MOST
from verax.exams.adversary.farthest import Point, at_vertices, best_vertex, entropic, farthest
from verax.time_limit import check_time

_TINY = 1e-13
_STEPS = 60
_CONVERGED = 1e-11
_EPS = 64 * torch.finfo(torch.float64).eps


def log_odds(logits: Tensor, decided: Tensor) -> Tensor:
    """ln p − ln(1 − p) of the class decided for: (…, classes) two or more → (…)."""
    place = decided.unsqueeze(-1)
    others = logits.scatter(-1, place, -torch.inf).logsumexp(-1)
    return logits.gather(-1, place).squeeze(-1) - others


def farthest_of_several(
    weights: Tensor,
    says: Tensor,
    mask: Tensor,
    decided: Tensor,
    low: Tensor,
    high: Tensor,
    max_pairs: int,
) -> tuple[Point, Tensor]:
    """The farthest item or edge point that keeps the prediction, and what nothing exceeds.

    weights, mask       (batch, items)
    says                (batch, items, classes)
    decided, low, high  (batch,): the class, and the faces of its log-odds
    """
    odds = log_odds(says, decided.unsqueeze(-1).expand(mask.shape))
    values = at_vertices(weights, mask)
    inside = mask & (odds >= low.unsqueeze(-1)) & (odds <= high.unsqueeze(-1))
    best, bound = best_vertex(values, inside), best_vertex(values, mask).value
    rows = (best.value < bound - _TINY).nonzero().squeeze(-1)
    if not len(rows):
        return best, bound
    picked = (weights, says, mask, decided, low, high, odds, values)
    weights, says, mask, decided, low, high, odds, values = (column[rows] for column in picked)
    improved = Point(*(column[rows] for column in best._all()))
    for face in (low, high):
        for block in _starts(odds, mask, face, max_pairs // (mask.shape[1] * says.shape[-1])):
            check_time()
            ends = _meetings(
                weights, says, mask, decided, face, values, improved, max_pairs, *block
            )
            improved = improved.or_better(ends)
    bound[rows] = torch.minimum(
        bound[rows], _from_above(weights, says, mask, decided, low, high, odds, max_pairs)
    )
    pairs = zip(best._all(), improved._all(), strict=True)
    best = Point(*(column.index_copy(0, rows, better) for column, better in pairs))
    return best, torch.maximum(bound, best.value)


def _starts(odds: Tensor, mask: Tensor, face: Tensor, size: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Rows and items whose log-odds lie below a face, so many at a time."""
    row, item = (mask & (odds < face.unsqueeze(-1)) & face.isfinite().unsqueeze(-1)).nonzero().T
    size = max(1, size)
    for start in range(0, len(row), size):
        yield row[start : start + size], item[start : start + size]


def _meetings(
    weights: Tensor,
    says: Tensor,
    mask: Tensor,
    decided: Tensor,
    face: Tensor,
    values: Tensor,
    best: Point,
    max_numbers: int,
    row: Tensor,
    start: Tensor,
) -> Point:
    """Of the edges out of some items, where the log-odds first meet the face: the farthest.

    max_numbers  edges × classes that are held at once
    """
    worth = torch.maximum(values[row], values[row, start].unsqueeze(-1))
    edges = mask[row] & (worth > best.value[row].unsqueeze(-1) + _TINY)
    edges[torch.arange(len(row), device=row.device), start] = False
    which, end = edges.nonzero().T
    row, start = row[which], start[which]
    parts = [
        _met(says, decided, face, row[some], start[some], end[some])
        for some in parts_within(len(row), says.shape[-1], max_numbers)
    ]
    if not parts:
        return _farthest_end(weights, row, start, end, face.new_zeros(0))
    return _farthest_end(weights, *(torch.cat(column) for column in zip(*parts, strict=True)))


def _met(
    says: Tensor, decided: Tensor, face: Tensor, row: Tensor, start: Tensor, end: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Of some edges those that meet the face: row, start, end, and the weight of the end there."""
    origin = says[row, start]
    way, target, y = says[row, end] - origin, face[row], decided[row]
    t = torch.zeros_like(target)
    alive = torch.ones_like(t, dtype=torch.bool)
    for _ in range(_STEPS):
        here = origin + t.unsqueeze(-1) * way
        missing = target - log_odds(here, y)
        alive &= missing > 0
        rest = here.scatter(-1, y.unsqueeze(-1), -torch.inf).softmax(-1)
        slope = way.gather(-1, y.unsqueeze(-1)).squeeze(-1) - (rest * way).sum(-1)
        # past its top h falls, and does not meet the face any more
        further = torch.where(alive & (slope > 0), t + missing / slope, t)
        moved = alive & (further > t)
        t = torch.where(moved, further.clamp(max=1.0), t)
        alive = moved & (further < 1)
        if not bool(alive.any()):
            break
    missing = (target - log_odds(origin + t.unsqueeze(-1) * way, y)).abs()
    rounding = _CONVERGED * (1 + target.abs())
    rounding += _EPS * (origin.abs().amax(-1) + way.abs().amax(-1))
    met = (t > 0) & (missing <= rounding)
    return row[met], start[met], end[met], t[met]


def _farthest_end(weights: Tensor, row: Tensor, start: Tensor, end: Tensor, t: Tensor) -> Point:
    """The farthest of points on edges, weight t on their ends; −∞ in rows that have none."""
    a, b = weights[row, end], weights[row, start]
    entropies = entropic(t) + entropic(1 - t) + entropic(a) + entropic(b)
    value = MOST + (entropies - entropic(t + a) - entropic(1 - t + b)) / 2
    count = len(weights)
    best = weights.new_full((count,), -torch.inf).scatter_reduce(0, row, value, "amax")
    places = torch.arange(len(row), device=row.device)
    first = torch.full((count,), len(row), device=row.device)
    first = first.scatter_reduce(0, row, places.where(value == best[row], len(row)), "amin")
    some = first < len(row)
    chosen = first.clamp(max=max(len(row) - 1, 0))
    if not len(row):
        nothing = torch.zeros_like(first)
        return Point(best, nothing, nothing, torch.ones_like(best))
    return Point(
        best,
        torch.where(some, end[chosen], 0),
        torch.where(some, start[chosen], 0),
        torch.where(some, t[chosen], 1.0),
    )


def _from_above(
    weights: Tensor,
    says: Tensor,
    mask: Tensor,
    decided: Tensor,
    low: Tensor,
    high: Tensor,
    odds: Tensor,
    max_pairs: int,
) -> Tensor:
    """(batch,): the least of what half-spaces that hold all that keeps the prediction allow."""
    nowhere = torch.full_like(low, torch.inf)
    bound = farthest(weights, odds, mask, -nowhere, high, max_pairs).value
    place = decided.view(-1, 1, 1).expand(*mask.shape, 1)
    own = says.gather(-1, place).squeeze(-1)
    for rival in range(says.shape[-1]):
        face = low.masked_fill(decided == rival, -torch.inf)
        margins = own - says[..., rival]  # of one class at a time: all would be as large as `says`
        bound = torch.minimum(
            bound, farthest(weights, margins, mask, face, nowhere, max_pairs).value
        )
    return bound
