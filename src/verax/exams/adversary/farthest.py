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
        rest = torch.where(self.first == self.second, 0.0, 1 - self.share)
        found = torch.zeros_like(like)
        found.scatter_(1, self.second.unsqueeze(-1), rest.unsqueeze(-1))
        return found.scatter_(1, self.first.unsqueeze(-1), self.share.unsqueeze(-1))

    def or_better(self, other: Point) -> Point:
        """The farther of the two in each row; itself in a tie."""
        take = other.value > self.value
        pairs = zip(self._all(), other._all(), strict=True)
        return Point(*(torch.where(take, theirs, own) for own, theirs in pairs))

    def _all(self) -> tuple[Tensor, ...]:
        return self.value, self.first, self.second, self.share


def entropic(values: Tensor) -> Tensor:
    """x ln x, 0 at 0."""
    return torch.xlogy(values, values)


def at_vertices(weights: Tensor, mask: Tensor) -> Tensor:
    """(batch, items): JSD from `weights` of all weight on one item; −∞ where masked."""
    found = MOST + (entropic(weights) - entropic(1 + weights)) / 2
    return found.masked_fill(~mask, -torch.inf)


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
    found = best_vertex(at_vertices(weights, mask), inside)
    for face in (low, high):
        found = found.or_better(_best_cut(weights, z, mask, face, max_pairs))
    return found


def _best_cut(weights: Tensor, z: Tensor, mask: Tensor, face: Tensor, max_pairs: int) -> Point:
    """The farthest of the points where edges cross a face, (batch,)."""
    batch = len(z)
    below, above = mask & (z < face.unsqueeze(-1)), mask & (z > face.unsqueeze(-1))
    counts = torch.stack([below.sum(-1), above.sum(-1)]).cpu()
    counts = counts * (counts > 0).all(0)  # without items on both sides there is no edge
    value = z.new_full((batch,), -torch.inf)
    first, second = (torch.zeros(batch, dtype=torch.long, device=z.device) for _ in range(2))
    share = torch.zeros_like(value)
    # rows with as many items below the face together, so that little of a block is padding
    order = counts[0].argsort(stable=True)
    rows_of = order[int((counts[0] == 0).sum()) :]
    start = 0
    while start < len(rows_of):
        left, right = (counts[side][rows_of[start:]].cummax(0).values for side in (0, 1))
        held = left * right * torch.arange(1, len(left) + 1)
        size = max(1, int(torch.searchsorted(held, max_pairs, right=True)))
        rows = rows_of[start : start + size].to(z.device)
        low = _Side.of(weights, z, below, rows, int(left[size - 1]))
        high = _Side.of(weights, z, above, rows, int(right[size - 1]))
        found = _cut(low, high, face[rows], max_pairs)
        value[rows], first[rows], second[rows], share[rows] = found._all()
        start += size
    return Point(value, first, second, share)


@dataclass(frozen=True, eq=False)
class _Side:
    """Some rows' items on one side of a face, pushed together: all (rows, width)."""

    place: Tensor
    z: Tensor
    weights: Tensor
    there: Tensor

    @classmethod
    def of(cls, weights: Tensor, z: Tensor, chosen: Tensor, rows: Tensor, width: int) -> _Side:
        own = chosen[rows]
        place = own.int().argsort(dim=-1, descending=True, stable=True)[:, :width]
        z, weights = z[rows].gather(-1, place), weights[rows].gather(-1, place)
        return cls(place, z, weights, own.gather(-1, place))

    def part(self, start: int, stop: int) -> _Side:
        pieces = (self.place, self.z, self.weights, self.there)
        return _Side(*(piece[:, start:stop] for piece in pieces))


def _cut(low: _Side, high: _Side, face: Tensor, max_pairs: int) -> Point:
    """The farthest crossing of the edges between two sides; of one long row in several pieces."""
    rows, width = low.z.shape
    step = max(1, max_pairs // (rows * high.z.shape[1]))
    found = _cut_part(low.part(0, step), high, face)
    for start in range(step, width, step):
        found = found.or_better(_cut_part(low.part(start, start + step), high, face))
    return found


def _cut_part(low: _Side, high: _Side, face: Tensor) -> Point:
    f = face.unsqueeze(-1)
    # padding stands one off the face on either side, and is refused at the end
    z_low = torch.where(low.there, low.z, f - 1).unsqueeze(-1)
    z_high = torch.where(high.there, high.z, f + 1).unsqueeze(-2)
    apart = (z_high - z_low).reciprocal_()
    t = (z_high - f.unsqueeze(-1)) * apart
    s = apart.mul_(f.unsqueeze(-1) - z_low)
    a, b = low.weights.unsqueeze(-1), high.weights.unsqueeze(-2)
    value = t * t.log()
    value += s * s.log()
    value -= (t + a).mul_((t + a).log_())
    value -= s.add_(b).mul_(s.log())
    own = (entropic(a).masked_fill(~low.there.unsqueeze(-1), -torch.inf), entropic(b))
    value += own[0]
    value += own[1].masked_fill(~high.there.unsqueeze(-2), -torch.inf)
    best, flat = value.flatten(1).max(-1)
    width = high.z.shape[1]
    left, right = flat.div(width, rounding_mode="floor").unsqueeze(-1), (flat % width).unsqueeze(-1)
    share = t.flatten(1).gather(-1, flat.unsqueeze(-1)).squeeze(-1)
    return Point(
        MOST + best / 2,
        low.place.gather(-1, left).squeeze(-1),
        high.place.gather(-1, right).squeeze(-1),
        share,
    )
