"""Sets of words that a model is asked about, each once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, cast

import numpy as np
import torch
from torch import Tensor

Changes = Callable[[Tensor, Tensor], Tensor]
"""(sets,) long, the document of each set, and (sets, words) bool, its words → (sets,) bool: whether
the set changes the decision; or floating-point, the margin that is left, below 0 where it does.
"""
LEAST = 1e-300
"""A margin of a decision that has changed is no closer to 0 than this."""


class Oracle(Protocol):
    """What is known of sets of words, and can be asked."""

    @property
    def passes(self) -> Tensor:
        """(batch,) long: how many sets the model was asked about."""
        ...

    def __call__(self, rows: Tensor, sets: Tensor) -> Tensor:
        """(sets,) bool: whether each set does what is looked for."""
        ...

    def margins(self, rows: Tensor, sets: Tensor) -> Tensor:
        """(sets,) float64: below 0 where it does; the lower, the nearer to it."""
        ...

    def is_new(self, rows: Tensor, sets: Tensor) -> Tensor:
        """(sets,) bool: whether the model has not been asked about a set yet."""
        ...

    def known(self, size: Tensor) -> Tensor:
        """(batch,) long: how many sets of so many words, (batch,), the model was asked about."""
        ...


class Asked:
    """`changes` with a memory: the model is asked about no set twice.

    Args:
        changes: whether sets of words change decisions.
        mask: (batch, words) bool: the words that a set can have.
        at_once: bools held at once: more sets are asked about in several calls.
    """

    def __init__(self, changes: Changes, mask: Tensor, at_once: int = 2**24) -> None:
        self._changes, self._mask, self._at_once = changes, mask, at_once
        self._margins: dict[bytes, float] = {}
        self.passes = torch.zeros(len(mask), dtype=torch.long, device=mask.device)
        self._by_size = torch.zeros(
            len(mask), mask.shape[1] + 1, dtype=torch.long, device=mask.device
        )

    def __call__(self, rows: Tensor, sets: Tensor) -> Tensor:
        return self.margins(rows, sets) < 0

    def margins(self, rows: Tensor, sets: Tensor) -> Tensor:
        keys = _keys(rows, sets)
        first: dict[bytes, int] = {}
        for place, key in enumerate(keys):
            if key not in self._margins:
                first.setdefault(key, place)
        if first:
            places = torch.tensor(list(first.values()), device=rows.device)
            self._margins.update(zip(first, self._ask(rows[places], sets[places]), strict=True))
        values = [self._margins[key] for key in keys]
        return torch.tensor(values, dtype=torch.float64, device=rows.device)

    def _ask(self, rows: Tensor, sets: Tensor) -> list[float]:
        ones = torch.ones_like(rows)
        self.passes.scatter_add_(0, rows, ones)
        self._by_size.index_put_((rows, sets.sum(-1)), ones, accumulate=True)
        parts: list[float] = []
        for some in torch.arange(len(rows), device=rows.device).split(
            max(1, self._at_once // max(1, sets.shape[1]))
        ):
            answers = self._changes(rows[some], sets[some])
            if answers.dtype == torch.bool:
                answers = torch.where(answers, -1.0, 1.0)
            parts += answers.double().tolist()
        return parts

    def is_new(self, rows: Tensor, sets: Tensor) -> Tensor:
        fresh = [key not in self._margins for key in _keys(rows, sets)]
        return torch.tensor(fresh, dtype=torch.bool, device=rows.device)

    def known(self, size: Tensor) -> Tensor:
        inside = size.clamp(0, self._by_size.shape[1] - 1)
        return self._by_size.gather(1, inside.unsqueeze(1)).squeeze(1)


class Kept:
    """The reverse of an `Asked`: sets of words that keep the decision when all others are gone.

    Args:
        asked: what is known of sets that are gone.
        mask: (batch, words) bool: the words that a set can have.
    """

    def __init__(self, asked: Asked, mask: Tensor) -> None:
        self._asked, self._mask, self._words = asked, mask, mask.sum(-1)

    @property
    def passes(self) -> Tensor:
        return self._asked.passes

    def __call__(self, rows: Tensor, sets: Tensor) -> Tensor:
        return self.margins(rows, sets) < 0

    def margins(self, rows: Tensor, sets: Tensor) -> Tensor:
        return -self._asked.margins(rows, self._mask[rows] & ~sets) - LEAST

    def is_new(self, rows: Tensor, sets: Tensor) -> Tensor:
        return self._asked.is_new(rows, self._mask[rows] & ~sets)

    def known(self, size: Tensor) -> Tensor:
        return self._asked.known(self._words - size)


def margin(logits: Tensor, decision: Tensor, decided: Tensor) -> Tensor:
    """(sets,) float64: how far the decision is ahead of the next class, below 0 where it is not.

    Args:
        logits: (sets, classes), two at least.
        decision: (sets,) long: the class decided for at first.
        decided: (sets,) long: the class decided for now: ties are settled already.
    """
    logits = logits.double()
    mine = logits.gather(-1, decision.unsqueeze(-1))
    others = logits.scatter(-1, decision.unsqueeze(-1), -torch.inf).amax(-1)
    ahead = mine.squeeze(-1) - others
    return torch.where(decided != decision, ahead.clamp(max=-LEAST), ahead.clamp(min=0.0))


def _keys(rows: Tensor, sets: Tensor) -> list[bytes]:
    """A key for each set of a document."""
    packed = np.packbits(sets.cpu().numpy(), axis=-1)
    numbers = np.ascontiguousarray(rows.cpu().numpy().astype(np.int32)[:, None]).view(np.uint8)
    joined = np.ascontiguousarray(np.concatenate([numbers, packed], axis=-1))
    whole = joined.view(np.dtype((np.void, joined.shape[1]))).ravel()
    return cast(list[bytes], whole.tolist())
