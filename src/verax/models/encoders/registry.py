"""Encoders by name; a class is registered where it is defined."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from verax.errors import VeraxError
from verax.models.encoders.base import ENCODER_OPTIONS, Encoder
from verax.plugins import Registry

E = TypeVar("E", bound=type[Encoder])

SAME = "same"
"""What the option `sentence_encoder` calls the encoder of words."""

ENCODERS: Registry[type[Encoder]] = Registry("encoder", "verax.encoders")


def register_encoder(name: str) -> Callable[[E], E]:
    """Register a subclass of `Encoder`, so that `encoder=name` is a choice everywhere.

    Args:
        name: what options, flags, study files and saved models call it.

    >>> from verax.models.encoders import Pointwise
    >>> @register_encoder("doubled")
    ... class Doubled(Pointwise):
    ...     "As `mlp`, twice as large."
    ...
    ...     reach = 0
    ...
    ...     def forward(self, inputs, mask, lengths, noise=None):
    ...         return 2 * super().forward(inputs, mask, lengths, noise)
    >>> ENCODERS["doubled"] is Doubled
    True
    >>> ENCODERS.unregister("doubled")
    """

    def register(kind: E) -> E:
        if not (isinstance(kind, type) and issubclass(kind, Encoder)):
            raise VeraxError(f"encoder {name!r} is {kind!r}: register a subclass of Encoder")
        if name == SAME:
            raise VeraxError(f"encoder {name!r}: option sentence_encoder means another thing by it")
        unknown = set(kind.uses) - set(ENCODER_OPTIONS)
        if unknown:
            raise VeraxError(
                f"encoder {name!r} uses {', '.join(sorted(unknown))}: an encoder's options are "
                f"{', '.join(ENCODER_OPTIONS)}"
            )
        ENCODERS.register(name, kind, f"{kind.__module__}.{kind.__qualname__}")
        return kind

    return register
