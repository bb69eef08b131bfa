"""What a decision becomes when attended items are erased: an affine head, in closed form.

With weights α, item logits ℓ and a set R erased, the rest is renormalised by S = Σ_{i∉R} α_i:

    logits(R) = Σ_{i∉R} α_i ℓ_i / S,    or the bias alone where S = 0

so class c overtakes the decision y exactly when Σ_{i∉R} α_i (ℓ_i^y − ℓ_i^c) < 0: S never matters.
All of it is float64. A gap |logits^y − logits^c| < 1e-9 is a tie, and goes to the lower class; to
judge it on the gap and not on the sum, which shrinks with S, the tolerance is taken off every
item's gap first: Σ α_i (ℓ_i^y − ℓ_i^c ∓ 1e-9) < 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from verax.errors import VeraxError
from verax.models.layers import two_columns

TIE = 1e-9
_ELEMENTS = 2**18
"""Numbers of one working array: small enough to stay in a core's cache, two MiB in float64."""


@dataclass(frozen=True, eq=False)
class FlipSets:
    """The smallest set of items whose erasure changes each decision.

    size       (batch,) long          −1 where no set does
    members    (batch, items) bool    one such set; where several exist, by lower rival and position
    rival      (batch,) long          the decision after the erasure; −1 where no set changes it
    ties       (batch,) bool          whether the decision before or after it was a tie
    certified  whether the size is proven minimal; False for the best set found by a search
    """

    size: Tensor
    members: Tensor
    rival: Tensor
    ties: Tensor
    certified: bool


@dataclass(frozen=True, eq=False)
class FirstFlips:
    """How many items are erased, in the order of a ranking, until the decision first changes.

    size  (…, batch) long     −1 where it never changes
    mass  (…, batch) float64  the total weight of the erased items; NaN where it never changes
    """

    size: Tensor
    mass: Tensor


def erase(weights: Tensor, removed: Tensor, mask: Tensor) -> Tensor:
    """Weights with the removed items at zero and the rest summing to one again.

    Where nothing is left, all are zero: the context is the zero vector, the logits the bias.

    Args:
        weights: (..., items).
        removed: (..., items) bool, True at the items to erase.
        mask: (..., items) bool, True where there is an attended item.
    """
    for name, tensor in (("removed", removed), ("mask", mask)):
        if tensor.dtype != torch.bool or tensor.shape != weights.shape:
            raise VeraxError(
                f"{name} is {tensor.dtype} of shape {tuple(tensor.shape)}, expected torch.bool of "
                f"shape {tuple(weights.shape)} as weights",
                code="tensor.wrong-shape",
            )
    kept = weights.masked_fill(removed | ~mask, 0.0)
    left = kept.sum(-1, keepdim=True)
    return torch.where(left > 0, kept / torch.where(left > 0, left, 1.0), 0.0)


def decide(logits: Tensor) -> Tensor:
    """(…, classes) → the class decided for: the lowest of those within a tie of the highest."""
    classes = torch.arange(logits.shape[-1], device=logits.device)
    tied = logits >= logits.amax(-1, keepdim=True) - TIE
    return torch.where(tied, classes, logits.shape[-1]).amin(-1)


def overtaken(logits: Tensor, decision: Tensor) -> Tensor:
    """Whether some class beats `decision` (…,) in `logits` (…, classes), ties by class order."""
    classes = torch.arange(logits.shape[-1], device=logits.device)
    decided = logits.gather(-1, decision.unsqueeze(-1))
    margin = decided - logits - _tolerance(classes, decision.unsqueeze(-1))
    return (margin < 0).any(-1)


def pieces(batch: int, items: int, classes: int) -> Iterator[slice]:
    """Rows to work on at once so that a (rows, items, classes) array stays within bounds."""
    rows = max(1, _ELEMENTS // max(1, items * classes))
    return (slice(first, first + rows) for first in range(0, batch, rows))


def ranks_from_below(importance: Tensor, mask: Tensor) -> Tensor:
    """(…, items) scores → positions from least to most important, what is masked in front.

    Signed; of equal scores the later position counts as less important.
    """
    keys = torch.where(mask, importance, -torch.inf)
    if keys.device.type != "cpu":
        return _stable_ranks(keys)
    # NumPy's vectorised sort is several times faster, but keeps no order among equals
    order = torch.from_numpy(np.argsort(keys.numpy(), axis=-1))
    ordered = keys.gather(-1, order)
    flat = ordered.view(-1)  # across the ends of rows too, where looking twice does no harm
    if bool(((flat[1:] == flat[:-1]) & (flat[1:] > -torch.inf)).any()):
        equal = (ordered[..., 1:] == ordered[..., :-1]) & (ordered[..., 1:] > -torch.inf)
        rows = equal.any(-1)
        order[rows] = _stable_ranks(keys[rows])
    return order


def _stable_ranks(keys: Tensor) -> Tensor:
    return keys.sort(dim=-1, descending=True, stable=True)[1].flip(-1)


class States(Protocol):
    """What the exam asks of a batch, whatever its head."""

    certified: bool
    mask: Tensor
    weights: Tensor
    logits: Tensor
    decision: Tensor

    def after(self, removed: Tensor) -> Tensor: ...

    def after_each(self, items: Tensor) -> Tensor: ...

    def first_flips(self, orders: Tensor) -> FirstFlips: ...

    def minimal(self, orders: Tensor | None = None) -> FlipSets: ...


class AffineStates:
    """The states of a batch under erasure, by item logits alone.

    weights      (batch, items)           zero where masked
    item_logits  (batch, items, classes)  one class means one sigmoid logit
    mask         (batch, items) bool
    bias         (classes,)               the logits once all is erased; None: that is no flip
    """

    certified = True

    def __init__(
        self, weights: Tensor, item_logits: Tensor, mask: Tensor, bias: Tensor | None
    ) -> None:
        self.mask = mask
        self.weights = weights.double().masked_fill(~mask, 0.0)
        self.bias = None if bias is None else two_columns(bias.double())
        # classes first and in one piece, so that sums run along memory
        self.weighted = two_columns(item_logits).permute(2, 0, 1).contiguous() * self.weights
        self.logits = self.weighted.sum(-1).T
        if not bool(self.logits.isfinite().all()):  # something else than numbers where masked
            self.weighted.masked_fill_(~mask, 0.0)
            self.logits = self.weighted.sum(-1).T
        self.decision = decide(self.logits)
        self.terms = self._terms()
        self._scratch = torch.empty_like(self.terms)
        if self.bias is None:
            self.bias_flips = torch.zeros_like(self.decision, dtype=torch.bool)
        else:
            self.bias_flips = overtaken(self.bias.expand_as(self.logits), self.decision)

    def _terms(self) -> Tensor:
        """(classes, batch, items): α_i (ℓ_i^y − ℓ_i^c ∓ 1e-9), zero for the decision itself."""
        decided = self.weighted.gather(0, self.decision[None, :, None].expand(1, *self.mask.shape))
        classes = torch.arange(len(self.weighted), device=decided.device).unsqueeze(-1)
        tolerance = _tolerance(classes, self.decision).unsqueeze(-1)
        terms = torch.sub(decided, self.weighted).addcmul_(self.weights, tolerance, value=-1)
        terms[self.decision, torch.arange(len(self.decision), device=terms.device)] = 0.0
        return terms

    def after(self, removed: Tensor) -> Tensor:
        """(batch, sets, items) bool → (batch, sets, classes): the logits left by each set."""
        kept = (~removed).double()
        left = (kept @ self.weights.unsqueeze(-1)).squeeze(-1)
        return self._shared_out(kept @ self.weighted.permute(1, 2, 0), left)

    def after_each(self, items: Tensor) -> Tensor:
        """(batch, sets) positions, one item erased in each → (batch, sets, classes).

        What stands before the item and what stands after it, added up: nothing is taken off.
        """
        sums = _without_each(
            self.weighted, items.expand(len(self.weighted), *items.shape), self._scratch
        )
        return self._shared_out(sums.permute(1, 2, 0), _without_each(self.weights, items))

    def _shared_out(self, sums: Tensor, left: Tensor) -> Tensor:
        """(…, classes) sums over the weight `left` (…,); the bias where there is none."""
        left = left.unsqueeze(-1)
        logits = sums / left
        return logits if self.bias is None else torch.where(left > 0, logits, self.bias)

    def first_flips(self, orders: Tensor) -> FirstFlips:
        """Erase in `orders` (rankings, batch, items), each as `ranks_from_below` has it.

        Sums run from the least important on, so what is left is added up, never taken off a total.
        """
        width = orders.shape[-1]
        left = torch.zeros(orders.shape, dtype=torch.float64, device=orders.device)
        one = torch.empty_like(left)  # made once: making it costs as much as a class's sums
        for terms in self.terms:
            torch.gather(terms.expand(orders.shape), -1, orders, out=one)
            torch.minimum(left, torch.cumsum(one, -1, out=one), out=left)
        kept = self.weights.expand(orders.shape).gather(-1, orders).cumsum_(-1)
        places = torch.arange(1, width + 1, dtype=torch.int32, device=orders.device)
        # position j holds the state in which all but the first j + 1 are gone; the last, none
        left[..., -1] = 0.0
        last = ((left < 0) * places).amax(-1).long()
        by_rest = torch.where(last > 0, width - last, width + 1)
        weighty = (kept > 0).sum(-1)
        by_bias = torch.where(self.bias_flips & (weighty > 0), weighty, width + 1)
        return flips_at(torch.minimum(by_rest, by_bias), kept)

    def minimal(self, orders: Tensor | None = None) -> FlipSets:
        """For each rival, erase the terms that favour y most; the fewest over rivals is exact.

        Sums of the lowest terms fall, then rise, so those below zero are a stretch from the first:
        how many there are tells how many items may stay. `orders` are for those who must search.
        """
        width = self.mask.shape[-1]
        ordered = _sorted(self.terms)
        torch.cumsum(ordered, -1, out=self._scratch)
        stay = torch.lt(self._scratch, 0, out=self._scratch).sum(-1).long()
        most = stay.amax(0)
        classes = torch.arange(len(stay), device=stay.device).unsqueeze(-1)
        rival = torch.where(stay == most, classes, len(stay)).amin(0)
        flips = most > 0
        size = torch.where(flips, (width - most).clamp(min=1), -1)
        members = self._highest(rival, size, ordered)
        support = self.weights > 0
        by_bias = ~flips & self.bias_flips & support.any(-1)
        size = torch.where(by_bias, support.sum(-1), size)
        members |= by_bias.unsqueeze(-1) & support
        return self._judged(size, members, rival)

    def _highest(self, rival: Tensor, size: Tensor, ordered: Tensor) -> Tensor:
        """(batch, items) bool: the `size` highest of the terms against each row's rival.

        They are those from the lowest of them on, unless the next has the same value: then the
        earlier positions.
        """
        index = rival[None, :, None].expand(1, *self.mask.shape)
        terms = self.terms.gather(0, index).squeeze(0)
        last = (self.mask.shape[-1] - size).clamp(max=self.mask.shape[-1] - 1)
        lowest = ordered.gather(0, index).squeeze(0).gather(-1, last.unsqueeze(-1))
        support = self.weights > 0
        members = (terms >= lowest) & support & (size > 0).unsqueeze(-1)
        uneven = members.sum(-1) != size.clamp(min=0)
        if bool(uneven.any()):
            order = ranks_from_below(terms[uneven], support[uneven])
            places = torch.arange(order.shape[-1], 0, -1, device=order.device)
            chosen = places <= size[uneven].unsqueeze(-1)
            members[uneven] = torch.zeros_like(support[uneven]).scatter(-1, order, chosen)
        return members

    def _judged(self, size: Tensor, members: Tensor, overtaker: Tensor) -> FlipSets:
        logits = self.after(members.unsqueeze(1)).squeeze(1).nan_to_num()
        after = decide(logits)
        after = torch.where(after == self.decision, overtaker, after)
        flips = size > 0
        ties = tied(self.logits, self.decision) | (flips & tied(logits, self.decision))
        return FlipSets(size, members, torch.where(flips, after, -1), ties, self.certified)


def flips_at(size: Tensor, kept: Tensor) -> FirstFlips:
    """`size` (…,) beyond the width means never; `kept` (…, items) sums the weights from below."""
    width = kept.shape[-1]
    never = size > width
    left = kept.gather(-1, (width - 1 - size).clamp(min=0).unsqueeze(-1)).squeeze(-1)
    mass = (kept[..., -1] - torch.where(size < width, left, 0.0)).clamp(0.0, 1.0)
    return FirstFlips(torch.where(never, -1, size), mass.masked_fill(never, torch.nan))


def _tolerance(classes: Tensor, decision: Tensor) -> Tensor:
    """A tie lets a lower class win, and keeps a higher one from it."""
    return torch.where(classes < decision, TIE, -TIE).double()


def tied(logits: Tensor, decision: Tensor) -> Tensor:
    """Whether `decision` and some other class share the highest place, within a tie."""
    top = logits.amax(-1, keepdim=True)
    near = (logits - top).abs() < TIE
    return (near.sum(-1) > 1) & near.gather(-1, decision.unsqueeze(-1)).squeeze(-1)


def _without_each(values: Tensor, items: Tensor, scratch: Tensor | None = None) -> Tensor:
    """(…, items) values summed without the one at each of `items` (…, sets) → (…, sets)"""
    width = values.shape[-1]
    sums = torch.cumsum(values, -1, out=scratch)
    before = torch.where(items > 0, sums.gather(-1, (items - 1).clamp(min=0)), 0.0)
    sums = torch.cumsum(values.flip(-1), -1, out=scratch)
    places = width - 2 - items  # how far from the end the next item stands
    return before + torch.where(places >= 0, sums.gather(-1, places.clamp(min=0)), 0.0)


def _sorted(values: Tensor) -> Tensor:
    """Ascending along the last dimension; NumPy's vectorised sort is far faster on a CPU."""
    if values.device.type == "cpu":
        return torch.from_numpy(np.sort(values.numpy(), axis=-1))
    return values.sort(dim=-1)[0]
