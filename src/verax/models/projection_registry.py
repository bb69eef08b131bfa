"""Projections by name; a function is registered where it is defined."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from torch import Tensor

from verax.errors import VeraxError
from verax.plugins import Names, Registry

F = TypeVar("F", bound=Callable[..., Tensor])

PROJECTION_OPTIONS = ("lam", "alpha")
"""The options of a model that are its projection's alone."""


@dataclass(frozen=True)
class Projection:
    """A function of (scores, mask), both (..., items), to weights, on the simplex and 0 if masked.

    uses        which of `PROJECTION_OPTIONS` it takes as keywords; the others have no effect on it
    dense       whether every item has weight, whatever the scores
    replayable  whether a training step can be captured on a GPU and replayed: it asks the device
                for no value
    """

    function: Callable[..., Tensor]
    uses: tuple[str, ...] = ()
    dense: bool = False
    replayable: bool = False

    def __call__(self, scores: Tensor, mask: Tensor | None = None, **options: float) -> Tensor:
        return self.function(scores, mask, **options)


PROJECTIONS: Registry[Projection] = Registry("projection", "verax.projections")
"""The registered projections, by name."""
DENSE = Names(PROJECTIONS, only=lambda projection: projection.dense)
"""Those that give every item weight, whatever the scores."""


def register_projection(
    name: str, *, uses: tuple[str, ...] = (), dense: bool = False, replayable: bool = False
) -> Callable[[F], F]:
    """Register a projection under a name, so that `projection=name` is valid everywhere.

    A projection is a function of (scores, mask) that returns weights on the simplex.

    Args:
        name: its name in options, flags, study files and saved models.
        uses: which of the options `lam` and `alpha` it takes as keyword arguments.
        dense: whether every item gets a positive weight for any scores.
        replayable: whether it never copies a value from the device, so that training steps can be
            captured and replayed on a GPU.

    >>> @register_projection("cold", dense=True)
    ... def cold(scores, mask=None):
    ...     return softmax(2 * scores, mask)
    >>> from verax.models.projections import project, softmax
    >>> import torch
    >>> project("cold", torch.zeros(1, 2)).tolist()
    [[0.5, 0.5]]
    >>> PROJECTIONS.unregister("cold")
    """

    def register(function: F) -> F:
        unknown = set(uses) - set(PROJECTION_OPTIONS)
        if unknown:
            raise VeraxError(
                f"projection {name!r} uses {', '.join(sorted(unknown))}: a projection's options "
                f"are {', '.join(PROJECTION_OPTIONS)}",
                code="plugin.invalid",
            )
        origin = f"{function.__module__}.{function.__qualname__}"
        PROJECTIONS.register(name, Projection(function, tuple(uses), dense, replayable), origin)
        return function

    return register
