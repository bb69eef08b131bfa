"""No encoder: a state is its word's vector."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from torch import Tensor

from verax.models.encoders.base import Encoder
from verax.models.encoders.registry import register_encoder
from verax.models.hashed_dropout import HashedDropout

if TYPE_CHECKING:
    from verax.models.options import ModelOptions


@register_encoder("none")
class Identity(Encoder):
    """Encoder `none`: an item is its word's vector."""

    uses = frozenset()
    is_identity = True
    reach = 0
    replayable = True
    training_cost = 0.2
    reading_cost = (0.15, 0.0)

    def __init__(self, input_size: int) -> None:
        super().__init__()
        self.output_size = input_size

    @classmethod
    def make(cls, input_size: int, options: ModelOptions) -> Self:
        return cls(input_size)

    def forward(
        self, inputs: Tensor, mask: Tensor, lengths: Tensor, noise: HashedDropout | None = None
    ) -> Tensor:
        return inputs * mask.unsqueeze(-1)
