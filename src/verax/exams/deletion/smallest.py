"""The smallest set of words that changes a decision, or that keeps it: bounds from both sides.

Upper bound: the best set that was found, by rankings, greedily and by a beam, pruned until none of
its words can return. Lower bound: a size is ruled out once all its sets were asked about. Decisions
are not monotone in the words that are there, so nothing less rules it out for any model; proofs for
some models begin further up (`verax.exams.deletion.proofs`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from math import comb

import numpy as np
import torch
from torch import Tensor

from verax.errors import VeraxError
from verax.exams.deletion.asking import Asked, Changes, Kept, Oracle
from verax.exams.deletion.beam import beamed
from verax.exams.deletion.changes import best_prefix, first_changes, prefix_sizes, pruned

BEAM, BUDGET, STEPS = 4, 1000, 32
_FIRST_SETS = 64


@dataclass(frozen=True, eq=False)
class SmallestSets:
    """Lower and upper bounds on the size of the smallest sets of words.

    lower    (batch,) long: no smaller set exists; above `words` where provably no set exists
    upper    (batch,) long: the size of the smallest set found; −1 where none was found
    members  (batch, words) bool: that set
    words    (batch,) long: how many words there are
    passes   (batch,) long: the number of sets evaluated
    """

    lower: Tensor
    upper: Tensor
    members: Tensor
    words: Tensor
    passes: Tensor

    @property
    def exact(self) -> Tensor:
        """(batch,) bool: whether the bounds meet, or nothing can do it and that is proven."""
        return (self.lower == self.upper) | (self.lower > self.words)


def smallest_sets(
    changes: Changes,
    mask: Tensor,
    orders: Tensor | None = None,
    *,
    beam: int = BEAM,
    budget: int = BUDGET,
) -> SmallestSets:
    """The smallest set of words that changes each decision, as bounds that meet where possible.

    Args:
        changes: whether sets change decisions: (sets,) long, the document of each set, and
            (sets, words) bool, its words, → (sets,) bool. Or floating-point: how far the decision
            is from changing, below 0 where it has changed; the search goes by these.
        mask: (batch, words) bool.
        orders: (rankings, batch, words) positions, most important first: prefixes are tried. The
            order of the text, unless given.
        beam: sets kept at each size, 1 or more; the first of them is the greedy choice's.
        budget: sets of a document that may be asked about for the lower bound, and as many for the
            beam. A size that does not fit is not begun.

    Any function will do: nothing is assumed of it. No set is asked about twice.

    >>> import torch
    >>> removed = lambda rows, sets: sets[:, 0] & sets[:, 2]  # both must go
    >>> smallest = smallest_sets(removed, torch.ones(1, 4, dtype=torch.bool))
    >>> smallest.lower.tolist(), smallest.upper.tolist(), smallest.members.tolist()
    ([2], [2], [[True, False, True, False]])
    """
    _check(mask, beam, budget)
    return bounds(Asked(changes, mask), mask, by_position(mask, orders), beam, budget)


def smallest_sufficient_sets(
    changes: Changes,
    mask: Tensor,
    orders: Tensor | None = None,
    *,
    beam: int = BEAM,
    budget: int = BUDGET,
) -> SmallestSets:
    """The smallest set of words that alone keeps each decision, as bounds.

    Args:
        changes: as `smallest_sets` has it: whether decisions change when sets of words are gone.
        mask: (batch, words) bool.
        orders: (rankings, batch, words) positions, most important first.
        beam: sets kept at each size.
        budget: sets of a document that may be asked about for the lower bound.

    Size 0: the decision is the same with all words gone.

    >>> import torch
    >>> removed = lambda rows, sets: sets[:, 0] & sets[:, 2]  # one of them is enough
    >>> smallest = smallest_sufficient_sets(removed, torch.ones(1, 4, dtype=torch.bool))
    >>> smallest.lower.tolist(), smallest.upper.tolist(), smallest.members.tolist()
    ([1], [1], [[True, False, False, False]])
    """
    _check(mask, beam, budget)
    kept = Kept(Asked(changes, mask), mask)
    return bounds(kept, mask, by_position(mask, orders), beam, budget, least=0)


def _check(mask: Tensor, beam: int, budget: int) -> None:
    if mask.dim() != 2 or mask.dtype != torch.bool:
        raise VeraxError(
            f"mask is {mask.dtype} of shape {tuple(mask.shape)}, expected torch.bool of shape "
            "(batch, words)",
            code="tensor.wrong-shape",
        )
    if beam < 1 or budget < 0:
        raise VeraxError(
            f"beam is {beam} and budget {budget}: expected 1 or more, and 0 or more",
            code="option.out-of-range",
        )


def by_position(mask: Tensor, orders: Tensor | None) -> Tensor:
    """The orders, or that of the text where there are none; what is masked last."""
    if orders is not None:
        return orders
    return (~mask).long().argsort(dim=-1, stable=True).unsqueeze(0)


def bounds(
    oracle: Oracle,
    mask: Tensor,
    orders: Tensor,
    beam: int,
    budget: int,
    least: int = 1,
    lower: Tensor | None = None,
    tried: Tensor | None = None,
    steps: int = STEPS,
) -> SmallestSets:
    """Bounds of the smallest set that does what an oracle says.

    Args:
        oracle: what is known of sets of words.
        mask: (batch, words) bool.
        orders: (rankings, batch, words) positions, most important first.
        beam: sets kept at each size.
        budget: sets that may be asked about for the lower bound, and for the beam.
        least: the smallest size that can do it, 0 or 1.
        lower: (batch,) long: a lower bound that is proven already.
        tried: (proofs, batch, words) bool: sets that may do it, which are asked about first.
        steps: the most prefixes of an order that are tried.
    """
    words = mask.sum(-1)
    search = _Search(oracle, mask, least, lower)
    every = torch.arange(len(mask), device=mask.device)
    if least == 0:
        search.offer(every, torch.zeros_like(mask))
    for sets in () if tried is None else tried:
        some = sets.any(-1).nonzero().squeeze(-1)
        search.offer(some, sets[some] & mask[some])
    unsettled = search.unsettled
    sizes = prefix_sizes(words, steps).masked_fill(~unsettled, 0)
    first = first_changes(orders, mask, sizes, oracle)
    search.take(pruned(best_prefix(orders, mask, first), oracle))
    if bool(search.unsettled.any()):
        search.take(pruned(beamed(oracle, mask, search.reach, beam, budget), oracle))
    search.exhaust(budget)
    upper = torch.where(search.upper > words, -1, search.upper)
    return SmallestSets(search.lower, upper, search.members, words, oracle.passes.clone())


class _Search:
    """What is proven and found so far.

    lower    (batch,) long: all smaller sets are ruled out
    upper    (batch,) long: words of `members`; words + 1 where nothing was found
    members  (batch, words) bool
    """

    def __init__(self, oracle: Oracle, mask: Tensor, least: int, lower: Tensor | None) -> None:
        self.oracle, self.mask, self.words = oracle, mask, mask.sum(-1)
        self.least = least
        start = torch.full_like(self.words, least)
        self.lower = start if lower is None else torch.maximum(lower, start)
        self.upper = self.words + 1
        self.members = torch.zeros_like(mask)

    @property
    def unsettled(self) -> Tensor:
        """(batch,) bool: whether a smaller set than the one found may exist."""
        return self.lower < self.upper

    @property
    def reach(self) -> Tensor:
        """(batch,) long: the most words of a set that is still worth asking about."""
        return torch.where(self.unsettled, self.upper - 1, 0)

    def offer(self, rows: Tensor, sets: Tensor) -> None:
        """Ask about one set of each of these rows, and take those that do it."""
        does = self.oracle(rows, sets)
        self._take(rows[does], sets[does])

    def take(self, members: Tensor) -> None:
        """Sets that do it, (batch, words) bool, empty where there is none."""
        (rows,) = members.any(-1).nonzero(as_tuple=True)
        self._take(rows, members[rows])

    def _take(self, rows: Tensor, sets: Tensor) -> None:
        size = sets.sum(-1)
        better = size < self.upper[rows]
        self.upper[rows[better]] = size[better]
        self.members[rows[better]] = sets[better]
        # a proof that the model contradicts, by rounding, is worth nothing
        self.lower = torch.where(self.upper < self.lower, self.least, self.lower)

    def exhaust(self, budget: int) -> None:
        """Rule out sizes from the lower bound on, as far as the budget goes."""
        left = torch.full_like(self.words, budget)
        places = (~self.mask).long().argsort(dim=-1, stable=True)
        while True:
            counts = _binomial(self.words, self.lower)
            needed = counts - self.oracle.known(self.lower)
            active = self.unsettled & (needed <= left) & (counts >= 0)
            if not bool(active.any()):
                return
            before = self.oracle.passes.clone()
            ruled_out = self._ask_all(active, places)
            left -= self.oracle.passes - before
            places = torch.where((ruled_out & (self.lower == 1))[:, None], self._ranked(), places)
            self.lower = self.lower + ruled_out.long()

    def _ranked(self) -> Tensor:
        """(batch, words): words that come closest to doing it alone first; masked ones last."""
        rows, words = self.mask.nonzero(as_tuple=True)
        alone = torch.nn.functional.one_hot(words, self.mask.shape[1]).bool()
        fresh = self.oracle.is_new(rows, alone)
        margins = torch.full(self.mask.shape, torch.inf, dtype=torch.float64, device=rows.device)
        margins[rows, words] = 1e300
        margins[rows[~fresh], words[~fresh]] = self.oracle.margins(rows[~fresh], alone[~fresh])
        return margins.argsort(dim=-1, stable=True)

    def _ask_all(self, active: Tensor, places: Tensor) -> Tensor:
        """Ask about all sets of each active row's next size until one does it.

        Returns (batch,) bool: whether none does.
        """
        open_ = active.clone()
        first, many = 0, _FIRST_SETS
        while bool(open_.any()):
            rows, sets = self._sets(open_, places, first, first + many)
            if not len(rows):
                break
            does = self.oracle(rows, sets)
            # of several sets of a row the first: the last of them, turned round
            done, chosen = rows[does].flip(0), sets[does].flip(0)
            for_row = torch.full_like(self.words, -1)
            order = torch.arange(len(done), device=done.device)
            for_row.scatter_reduce_(0, done, order, "amax")
            hit = for_row >= 0
            self._take(hit.nonzero().squeeze(-1), chosen[for_row[hit]])
            open_ = open_ & ~hit
            first, many = first + many, many * 4
        return active & open_

    def _sets(self, active: Tensor, places: Tensor, first: int, last: int) -> tuple[Tensor, Tensor]:
        """The sets of each active row's next size from number `first` on, up to `last`."""
        parts_rows, parts_sets = [], []
        keys = torch.stack([self.words, self.lower], -1)
        for words, size in keys[active].unique(dim=0).tolist():
            (rows,) = (active & (self.words == words) & (self.lower == size)).nonzero(as_tuple=True)
            chosen = _combinations(words, size)[first:last]
            if not len(chosen):
                continue
            index = torch.from_numpy(chosen).to(rows.device)
            where = places[rows][:, index]  # (rows, sets, size)
            sets = self.mask.new_zeros(*where.shape[:2], self.mask.shape[1])
            parts_sets.append(sets.scatter_(-1, where, True).flatten(0, 1))
            parts_rows.append(rows.repeat_interleave(len(chosen)))
        if not parts_rows:
            return self.words[:0], self.mask[:0]
        return torch.cat(parts_rows), torch.cat(parts_sets)


def _binomial(words: Tensor, size: Tensor) -> Tensor:
    """(batch,) long: how many sets of so many words there are; −1 where there are too many."""
    pairs = zip(words.tolist(), size.tolist(), strict=True)
    counts = [comb(n, k) if k <= n else 0 for n, k in pairs]
    capped = [count if count < 2**40 else -1 for count in counts]
    return torch.tensor(capped, device=words.device)


@lru_cache(maxsize=32)
def _combinations(words: int, size: int) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    """(sets, size): all sets of so many of the first numbers, in the order of the alphabet."""
    flat = [number for one in combinations(range(words), size) for number in one]
    return np.array(flat, dtype=np.int64).reshape(comb(words, size), size)
