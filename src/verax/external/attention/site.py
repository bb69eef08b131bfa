"""One place where a model attends, during one pass."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

SINK = 1e-3
"""The least share of a row that is missing where a sink takes it; less is rounding."""
HALF_SINK = 2e-2
"""The same in half precision."""


@dataclass(frozen=True, eq=False)
class Site:
    """Attention as it is computed, once in a layer and pass.

    number   of its layer: calls are counted from the beginning of the pass
    weights  (batch, heads, queries, keys): rows sum to one, or less where a sink takes the rest
    allowed  (batch, heads, queries, keys) bool, or a shape that broadcasts to it
    values   (batch, heads, keys, size): what the weights are applied to; None where not known
    queries  which positions ask: "encoder" or "decoder"
    keys     which positions are attended: "encoder" or "decoder"
    name     of the module that attends; empty where the route does not tell

    The decoder of an encoder–decoder that classifies reads the same pieces one position later:
    its position i holds piece i − 1.
    """

    number: int
    weights: Tensor
    allowed: Tensor
    values: Tensor | None = None
    queries: str = "encoder"
    keys: str = "encoder"
    name: str = ""

    @property
    def sink(self) -> Tensor | None:
        """(batch, heads, queries, 1): the share that a sink takes of each row; None without sinks.

        An edit that keeps the sinks gives its rows the sum 1 − sink.
        """
        rest = 1 - self.weights.sum(-1, keepdim=True)
        asks = self.allowed.any(-1, keepdim=True).expand_as(rest)
        least = HALF_SINK if self.weights.dtype.itemsize < 4 else SINK
        return rest.where(asks, 0.0) if bool((rest > least)[asks].any()) else None


Handler = Callable[[Site], Tensor | None]
"""Sees the attention of each layer, and may return other weights to use instead."""


class Route(Protocol):
    """A way to get at the attention of a model.

    name  what it is called in results
    """

    name: str

    def opened(self, handler: Handler) -> AbstractContextManager[None]:
        """Within this, every pass of the model shows its attention to `handler`.

        Afterwards the model is exactly as it was, also after an error.
        """
        ...
