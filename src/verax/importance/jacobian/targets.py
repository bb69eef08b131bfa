"""Which items' dependence on the inputs is asked for, and pieces of the answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from verax.models.layers import HashedDropout
from verax.models.trace import Trace

_PLACE = 1 << 22


@dataclass(frozen=True, eq=False)
class Targets:
    """Items of each document, in order.

    items  (batch, targets) long; 0 where there is none
    mask   (batch, targets) bool
    """

    items: Tensor
    mask: Tensor

    @classmethod
    def of(cls, trace: Trace, positions: int | None, seed: int) -> Targets:
        """All items, or at most `positions` of them, drawn for each document by itself."""
        mask, n = trace.mask, trace.mask.shape[1]
        if positions is None or positions >= n:
            return cls(torch.arange(n, device=mask.device).expand(mask.shape), mask)
        chance = (
            HashedDropout.of(trace.batch.row_index, n, seed, 0)
            .uniform(_PLACE)
            .masked_fill(~mask, 2.0)
        )
        # of equal draws the earlier: a stable order is the same on every machine
        drawn = chance.sort(dim=-1, stable=True)[1][:, :positions]
        exists = mask.gather(-1, drawn)
        items, order = drawn.masked_fill(~exists, n).sort(dim=-1)
        exists = exists.gather(-1, order)
        return cls(items.masked_fill(~exists, 0), exists)


class Piece(NamedTuple):
    """The influence of all tokens on some targets of some documents.

    rows     (documents,) long: where they stand in the batch
    targets  (targets,) long: which of their targets
    matrix   (documents, targets, tokens), tokens as many as the longest of these documents has
    """

    rows: Tensor
    targets: Tensor
    matrix: Tensor


def at(values: Tensor, places: Tensor) -> Tensor:
    """(documents, length, size) at (documents, targets) places."""
    return values.gather(1, places.unsqueeze(-1).expand(-1, -1, values.shape[-1]))
