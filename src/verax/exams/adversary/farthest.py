"""The farthest point of a simplex cut by a slab: at most two weights, all pairs tried.

Let z_i be a number per item and lo ≤ Σ α'_i z_i ≤ hi a slab. JSD(α', α) is convex in α', so over
simplex ∩ slab it is largest at an extreme point, and an extreme point has at most two non-zero
weights: an item inside the slab, or an edge (i, j) cut by a face f, z_i < f < z_j, with

    α'_i = t = (z_j − f) / (z_j − z_i),   α'_j = s = (f − z_i) / (z_j − z_i)

With x̂ = x ln x, and every item off the two adding ½ α_k ln 2,

    JSD = ln 2 + ½ (t̂ + ŝ + α̂_i + α̂_j − (t + α_i)^ − (s + α_j)^)

so that a candidate costs four logarithms, and the items that lie below a face times those above it
are all there are: n²/4 at most.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from verax.divergence import MOST
from verax.time_limit import check_time

_ROUNDING = 1e-13
_SHORT = 1024
"""Edges of a row up to which it is cheaper to look at all than to choose."""
_FEW = 0.1
"""The share of edges up to which it is cheaper to fetch them than to look at all."""
_NOTHING = -1e9
"""Less than any divergence, and finite: times nothing it is nothing."""


@dataclass(frozen=True, eq=False)
class Point:
    """A point on an edge in each row, all (batch,); a vertex has its item twice and share 1.

    value is −∞ where a row has none.
    """

    value: Tensor
    first: Tensor
    second: Tensor
    share: Tensor

    def weights(self, like: Tensor) -> Tensor:
        """(batch, items): `share` on the first item, the rest on the second."""
        weights = torch.zeros_like(like)
        weights.scatter_(1, self.second.unsqueeze(-1), 1 - self.share.unsqueeze(-1))
        # written last, so that of a vertex the share is what stays
        return weights.scatter_(1, self.first.unsqueeze(-1), self.share.unsqueeze(-1))

    def or_better(self, other: Point) -> Point:
        """The farther of the two in each row; itself in a tie."""
        take = other.value > self.value
        pairs = zip(self._all(), other._all(), strict=True)
        return Point(*(torch.where(take, theirs, ours) for ours, theirs in pairs))

    def _all(self) -> tuple[Tensor, ...]:
        return self.value, self.first, self.second, self.share


def entropic(values: Tensor) -> Tensor:
    """x ln x, 0 at 0."""
    return torch.xlogy(values, values)


def at_vertices(weights: Tensor, mask: Tensor) -> Tensor:
    """(batch, items): JSD from `weights` of all weight on one item; −∞ where masked."""
    divergence = MOST + (entropic(weights) - entropic(1 + weights)) / 2
    return divergence.masked_fill(~mask, -torch.inf)


def best_vertex(values: Tensor, allowed: Tensor) -> Point:
    """The farthest of the items allowed, (batch, items) bool; of equals the first."""
    value, item = values.masked_fill(~allowed, -torch.inf).max(-1)
    return Point(value, item, item, torch.ones_like(value))


def farthest(
    weights: Tensor, z: Tensor, mask: Tensor, low: Tensor, high: Tensor, max_pairs: int
) -> Point:
    """The farthest point from `weights` in each row's simplex ∩ slab.

    weights, z, mask  (batch, items)
    low, high         (batch,): −∞ and ∞ where there is no face
    max_pairs         how many edges may be held at once
    """
    inside = mask & (z >= low.unsqueeze(-1)) & (z <= high.unsqueeze(-1))
    best = best_vertex(at_vertices(weights, mask), inside)
    for face in (low, high):
        best = best.or_better(_best_cut(weights, z, mask, face, max_pairs))
    return best


def _best_cut(weights: Tensor, z: Tensor, mask: Tensor, face: Tensor, max_pairs: int) -> Point:
    """The farthest of the points where edges cross a face, (batch,)."""
    batch = len(z)
    below, above = mask & (z < face.unsqueeze(-1)), mask & (z > face.unsqueeze(-1))
    counts = torch.stack([below.sum(-1), above.sum(-1)]).cpu()
    counts = counts * (counts > 0).all(0)  # without items on both sides there is no edge
    value = z.new_full((batch,), -torch.inf)
    first, second = (torch.zeros(batch, dtype=torch.long, device=z.device) for _ in range(2))
    share = torch.zeros_like(value)
    # rows whose larger sides are alike together, so that less of a block is padding
    order = counts.amax(0).argsort(stable=True)
    rows_of = order[int((counts[0] == 0).sum()) :]
    start = 0
    while start < len(rows_of):
        check_time()
        left, right = (counts[side][rows_of[start:]].cummax(0).values for side in (0, 1))
        edges = left * right * torch.arange(1, len(left) + 1)
        size = max(1, int(torch.searchsorted(edges, max_pairs, right=True)))
        rows = rows_of[start : start + size].to(z.device)
        low = _Side.of(weights, z, below, rows, int(left[size - 1]))
        high = _Side.of(weights, z, above, rows, int(right[size - 1]))
        best = _cut(low, high, face[rows], max_pairs)
        value[rows], first[rows], second[rows], share[rows] = best._all()
        start += size
    return Point(value, first, second, share)


@dataclass(frozen=True, eq=False)
class _Side:
    """Some rows' items on one side of a face, pushed together: all (rows, width)."""

    place: Tensor
    z: Tensor
    weights: Tensor
    mask: Tensor

    @classmethod
    def of(cls, weights: Tensor, z: Tensor, chosen: Tensor, rows: Tensor, width: int) -> _Side:
        mask = chosen[rows]
        place = mask.int().argsort(dim=-1, descending=True, stable=True)[:, :width]
        z, weights = z[rows].gather(-1, place), weights[rows].gather(-1, place)
        return cls(place, z, weights, mask.gather(-1, place))

    def part(self, start: int, stop: int) -> _Side:
        pieces = (self.place, self.z, self.weights, self.mask)
        return _Side(*(piece[:, start:stop] for piece in pieces))


def _cut(low: _Side, high: _Side, face: Tensor, max_pairs: int) -> Point:
    """The farthest crossing of the edges between two sides; of one long row in several pieces."""
    rows, width = low.z.shape
    step = max(1, max_pairs // (rows * high.z.shape[1]))
    best = _cut_part(low.part(0, step), high, face)
    for start in range(step, width, step):
        check_time()
        best = best.or_better(_cut_part(low.part(start, start + step), high, face))
    return best


def _cut_part(low: _Side, high: _Side, face: Tensor) -> Point:
    """The farthest crossing of all edges between two sides.

    Of many edges few are worth their logarithms: JSD is convex, so a crossing is no farther than
    t V_i + s V_j, V being JSD at the items themselves. Only those are looked at that could by this
    be beyond the most promising one; all where these are many, as under nearly uniform attention.
    """
    cut = _Crossings(low, high, face)
    rows = torch.arange(len(face), device=face.device)
    best = None
    if low.z.shape[1] * high.z.shape[1] > _SHORT:
        limit = cut.limits()
        ahead = cut.values_at(rows, limit.argmax(-1)) - _ROUNDING
        row, edge = (limit >= ahead.unsqueeze(-1)).nonzero().T
        if len(row) <= _FEW * limit.numel():
            value, first = _largest(cut.values_at(row, edge), row, len(face))
            best = value, edge[first]
    value, chosen = best or cut.values().max(-1)
    place_low, place_high = cut.items_of(rows, chosen)
    return Point(value, place_low, place_high, cut.shares_at(rows, chosen)[0])


def _largest(values: Tensor, row: Tensor, rows: int) -> tuple[Tensor, Tensor]:
    """(rows,): the largest of each row's values, and where it first stands; each has one."""
    largest = values.new_full((rows,), -torch.inf).scatter_reduce(0, row, values, "amax")
    places = torch.arange(len(row), device=row.device)
    places = places.where(values == largest[row], len(row))
    first = torch.full((rows,), len(row), device=row.device)
    return largest, first.scatter_reduce(0, row, places, "amin")


@dataclass(frozen=True, eq=False)
class _Crossings:
    """Where the edges between two sides cross a face; an edge is a place among low × high."""

    low: _Side
    high: _Side
    face: Tensor

    def limits(self) -> Tensor:
        """(rows, edges): what JSD does not exceed there; less where there is no edge."""
        up, down, apart = self._gaps()
        near, far = (
            at_vertices(side.weights, side.mask).clamp(min=_NOTHING)
            for side in (self.low, self.high)
        )
        limit = near.unsqueeze(-1) * up
        return limit.addcmul_(far.unsqueeze(-2), down).mul_(apart).flatten(1)

    def values(self) -> Tensor:
        """(rows, edges): JSD of every crossing; −∞ where there is no edge."""
        up, down, apart = self._gaps()
        t = up * apart
        s = apart.mul_(down)
        a, b = self.low.weights.unsqueeze(-1), self.high.weights.unsqueeze(-2)
        value = t * t.log()
        value += s * s.log()
        value -= t.add_(a).mul_(t.log())
        value -= s.add_(b).mul_(s.log())
        value += entropic(a).masked_fill(~self.low.mask.unsqueeze(-1), -torch.inf)
        value += entropic(b).masked_fill(~self.high.mask.unsqueeze(-2), -torch.inf)
        return value.div_(2).add_(MOST).flatten(1)

    def values_at(self, row: Tensor, edge: Tensor) -> Tensor:
        """JSD of some crossings."""
        i, j = self._places(edge)
        t, s = self.shares_at(row, edge)
        a, b = self.low.weights[row, i], self.high.weights[row, j]
        is_edge = self.low.mask[row, i] & self.high.mask[row, j]
        value = entropic(t) + entropic(s) + entropic(a) + entropic(b)
        value = value - entropic(t + a) - entropic(s + b)
        return (MOST + value / 2).masked_fill(~is_edge, -torch.inf)

    def shares_at(self, row: Tensor, edge: Tensor) -> tuple[Tensor, Tensor]:
        """The weights of both items at some crossings."""
        i, j = self._places(edge)
        below, above = self._z()
        low, high, f = below[row, i], above[row, j], self.face[row]
        return (high - f) / (high - low), (f - low) / (high - low)

    def items_of(self, row: Tensor, edge: Tensor) -> tuple[Tensor, Tensor]:
        """The items at both ends."""
        i, j = self._places(edge)
        return self.low.place[row, i], self.high.place[row, j]

    def _places(self, edge: Tensor) -> tuple[Tensor, Tensor]:
        width = self.high.z.shape[1]
        return edge.div(width, rounding_mode="floor"), edge % width

    def _z(self) -> tuple[Tensor, Tensor]:
        """What stands on either side; padding as far off the face as this is from nothing."""
        f = self.face.unsqueeze(-1)
        off = 1 + f.abs()
        low = torch.where(self.low.mask, self.low.z, f - off)
        return low, torch.where(self.high.mask, self.high.z, f + off)

    def _gaps(self) -> tuple[Tensor, Tensor, Tensor]:
        """How far the face is from both items, and one over how far these are apart."""
        low, high = self._z()
        f = self.face.view(-1, 1, 1)
        low, high = low.unsqueeze(-1), high.unsqueeze(-2)
        return high - f, f - low, (high - low).reciprocal_()
