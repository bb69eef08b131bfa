"""The same states for a head that is not affine: every one of them goes through the head.

What is left after an erasure is still a weighted mean of items, so the states along a ranking are
suffix sums of α_i h_i, divided and put through the head in one call. The smallest flipping set
cannot be read off any more: it is searched for, and the answer is the best found.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from verax.exams.erasure.states import (
    FirstFlips,
    FlipSets,
    decide,
    flips_at,
    overtaken,
    tied,
)
from verax.models.layers import two_columns

_EXCHANGES = 50


class HeadStates:
    """The states of a batch under erasure, by calling the head.

    weights  (batch, items)        zero where masked
    items    (batch, items, size)
    mask     (batch, items) bool
    head     (…, size) → (…, classes); one class means one sigmoid logit
    """

    certified = False

    def __init__(
        self, weights: Tensor, items: Tensor, mask: Tensor, head: Callable[[Tensor], Tensor]
    ) -> None:
        self.mask = mask
        self.weights = weights.double().masked_fill(~mask, 0.0)
        self.items = items.masked_fill(~mask.unsqueeze(-1), 0.0)
        self.dtype = items.dtype
        self.head = head
        self.sums = self.items.double() * self.weights.unsqueeze(-1)
        self.logits = self._decided(self.sums.sum(-2), self.weights.sum(-1))
        self.decision = decide(self.logits)

    def _decided(self, sums: Tensor, left: Tensor) -> Tensor:
        """(…, size) sums and (…,) weights left → (…, classes); nothing left is the zero vector."""
        some_left = left.unsqueeze(-1) > 0
        context = torch.where(
            some_left, sums / torch.where(some_left, left.unsqueeze(-1), 1.0), 0.0
        )
        return two_columns(self.head(context.to(self.dtype)).double())

    def after(self, removed: Tensor) -> Tensor:
        """(batch, sets, items) bool → (batch, sets, classes): the logits left by each set."""
        kept = self.weights.unsqueeze(1).masked_fill(removed, 0.0)
        return self._decided(kept @ self.items.double(), kept.sum(-1))

    def after_each(self, items: Tensor) -> Tensor:
        """(batch, sets) positions, one item erased in each → (batch, sets, classes)."""
        places = torch.arange(self.mask.shape[-1], device=items.device)
        return self.after(items.unsqueeze(-1) == places)

    def first_flips(self, orders: Tensor) -> FirstFlips:
        """Erase in `orders` (rankings, batch, items), each as `ranks_from_below` has it."""
        each = [self._first_flips(order) for order in orders]
        return FirstFlips(torch.stack([f.size for f in each]), torch.stack([f.mass for f in each]))

    def _first_flips(self, order: Tensor) -> FirstFlips:
        batch, width = order.shape
        rows = order.unsqueeze(-1).expand_as(self.sums)
        sums = self.sums.gather(1, rows).cumsum_(1)
        kept = self.weights.gather(-1, order).cumsum_(-1)
        flips = overtaken(self._decided(sums, kept), self._decision(width))
        flips[:, -1] = False
        nothing = torch.zeros_like(sums[:, 0])
        empty = overtaken(self._decided(nothing, kept.new_zeros(batch)), self.decision)
        places = torch.arange(1, width + 1, device=order.device)
        # masked positions stand in front, where nothing is left: they would count twice
        real = places > width - self.mask.sum(-1, keepdim=True)
        last = torch.where(flips & real, places, 0).amax(-1)
        size = torch.where(last > 0, width - last, width + 1)
        everything = torch.where(empty, self.mask.sum(-1), width + 1)
        return flips_at(torch.minimum(size, everything), kept)

    def minimal(self, orders: Tensor | None = None) -> FlipSets:
        """The best flipping set found: by greedy erasure or a ranking, then by exchanges."""
        greedy = self._greedy()
        best = torch.full_like(self.decision, -1)
        members = torch.zeros_like(self.mask)
        for order in [greedy, *([] if orders is None else orders)]:
            size = self._first_flips(order).size
            closer = (size > 0) & ((best < 0) | (size < best))
            best = torch.where(closer, size, best)
            members = torch.where(closer.unsqueeze(-1), self._prefix(order, size), members)
        best, members = self._exchange(best, members, greedy)
        best, members = self._without_idle(best, members)
        logits = self.after(members.unsqueeze(1)).squeeze(1)
        flips = best > 0
        ties = tied(self.logits, self.decision) | (flips & tied(logits, self.decision))
        rival = torch.where(flips, decide(logits), -1)
        return FlipSets(best, members, rival, ties, self.certified)

    def _greedy(self) -> Tensor:
        """An order that erases, at each step, the item whose going leaves y the least margin."""
        batch, width = self.mask.shape
        erased = ~self.mask
        taken = []
        for _ in range(width):
            margins = self._margins_without_one_more(erased)
            chosen = margins.masked_fill(erased, torch.inf).argmin(-1, keepdim=True)
            done = erased.all(-1, keepdim=True)
            taken.append(torch.where(done, width, chosen))
            erased = erased.scatter(-1, chosen, True)
        steps = torch.cat(taken, -1)
        ranks = torch.arange(width, device=steps.device).expand(batch, width)
        # the step each item went at, masked ones last of all
        went = torch.full((batch, width + 1), width, device=steps.device)
        went = went.scatter(-1, steps, ranks)[:, :width].masked_fill(~self.mask, width)
        return went.sort(dim=-1, stable=True)[1].flip(-1)

    def _exchange(self, size: Tensor, members: Tensor, greedy: Tensor) -> tuple[Tensor, Tensor]:
        """Look for sets of one less: put one back, take another out, while the margin falls."""
        trial = torch.where(
            (size > 1).unsqueeze(-1), self._prefix(greedy, size - 1), torch.zeros_like(members)
        )
        active = size > 1
        lowest = self._margin(trial)
        for _ in range(_EXCHANGES):
            if not bool(active.any()):
                break
            back = self._margins_with_one_back(trial).masked_fill(~trial, torch.inf).argmin(-1)
            moved = trial.scatter(-1, back.unsqueeze(-1), False)
            closed = moved | ~self.mask
            out = self._margins_without_one_more(closed).masked_fill(closed, torch.inf).argmin(-1)
            moved = moved.scatter(-1, out.unsqueeze(-1), True)
            margin = self._margin(moved)
            better = active & (margin < lowest)
            trial = torch.where(better.unsqueeze(-1), moved, trial)
            lowest = torch.where(better, margin, lowest)
            won = active & self._flipped(trial)
            size = torch.where(won, size - 1, size)
            members = torch.where(won.unsqueeze(-1), trial, members)
            # a set of one less again: leave out the member that costs least
            back = self._margins_with_one_back(trial).masked_fill(~trial, torch.inf).argmin(-1)
            fewer = trial.scatter(-1, back.unsqueeze(-1), False)
            trial = torch.where(won.unsqueeze(-1), fewer, trial)
            lowest = torch.where(won, self._margin(trial), lowest)
            active = (better | won) & (size > 1)
        return size, members

    def _without_idle(self, size: Tensor, members: Tensor) -> tuple[Tensor, Tensor]:
        """Put back, one at a time, members without which the decision flips as well."""
        while True:
            returned = self._with_one_back(members)
            flips = overtaken(returned, self._decision(self.mask.shape[-1])) & members
            flips &= (size > 1).unsqueeze(-1)
            idle = flips.any(-1)
            if not bool(idle.any()):
                return size, members
            leads = self._lead(returned, self._decision(self.mask.shape[-1]))
            back = leads.masked_fill(~flips, torch.inf).argmin(-1, keepdim=True)
            members = members.scatter(-1, back, False) * idle[:, None] | members * ~idle[:, None]
            size = size - idle.long()

    def _margins_without_one_more(self, erased: Tensor) -> Tensor:
        """(batch, items): y's lead once each item goes too, after what is `erased` already."""
        sums, left = self._rest(erased)
        without = self._decided(sums.unsqueeze(1) - self.sums, left.unsqueeze(1) - self.weights)
        return self._lead(without, self._decision(self.mask.shape[-1]))

    def _margins_with_one_back(self, erased: Tensor) -> Tensor:
        """(batch, items): y's lead once each item comes back, after what is `erased` already."""
        return self._lead(self._with_one_back(erased), self._decision(self.mask.shape[-1]))

    def _with_one_back(self, erased: Tensor) -> Tensor:
        """(batch, items, classes): the logits once each item comes back."""
        sums, left = self._rest(erased)
        return self._decided(sums.unsqueeze(1) + self.sums, left.unsqueeze(1) + self.weights)

    def _margin(self, erased: Tensor) -> Tensor:
        return self._lead(self.after(erased.unsqueeze(1)).squeeze(1), self.decision)

    def _flipped(self, erased: Tensor) -> Tensor:
        return overtaken(self.after(erased.unsqueeze(1)).squeeze(1), self.decision)

    def _rest(self, erased: Tensor) -> tuple[Tensor, Tensor]:
        kept = self.weights.masked_fill(erased, 0.0)
        return (kept.unsqueeze(1) @ self.items.double()).squeeze(1), kept.sum(-1)

    def _decision(self, width: int) -> Tensor:
        return self.decision.unsqueeze(-1).expand(-1, width)

    def _prefix(self, order: Tensor, size: Tensor) -> Tensor:
        """(batch, items) bool: the `size` most important items of an order from below."""
        width = order.shape[-1]
        places = torch.arange(width, device=order.device)
        chosen = places >= (width - size.clamp(min=0)).unsqueeze(-1)
        return torch.zeros_like(self.mask).scatter(-1, order, chosen) & self.mask

    @staticmethod
    def _lead(logits: Tensor, decision: Tensor) -> Tensor:
        """y's logit less the highest of the others'."""
        decided = logits.gather(-1, decision.unsqueeze(-1))
        others = logits.scatter(-1, decision.unsqueeze(-1), -torch.inf)
        return (decided.squeeze(-1)) - others.amax(-1)
