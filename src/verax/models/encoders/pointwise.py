"""Encoders in which no word sees another: one layer over each word, or none at all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from torch import Tensor, nn

from verax.models.encoders.base import Encoder, register_encoder
from verax.models.hashed_dropout import HashedDropout

if TYPE_CHECKING:
    from verax.models.options import ModelOptions


@register_encoder("mlp")
class Pointwise(Encoder):
    """Encoder `mlp`: h_t = tanh(W e_t + b).

    What Wiegreffe & Pinter (2019, section 3.4) put other models' attention on, and Jain & Wallace's
    encoder "average" in their code: a state knows its own word and nothing of what stands around.
    """

    uses = frozenset({"hidden_size"})
    reach = 0
    replayable = True
    training_cost = 0.4

    def __init__(self, input_size: int, output_size: int) -> None:
        super().__init__()
        self.linear = nn.Linear(input_size, output_size)
        self.output_size = output_size

    @classmethod
    def make(cls, input_size: int, options: ModelOptions) -> Self:
        return cls(input_size, options.hidden_size)

    def forward(
        self, inputs: Tensor, mask: Tensor, lengths: Tensor, noise: HashedDropout | None = None
    ) -> Tensor:
        return self.linear(inputs).tanh() * mask.unsqueeze(-1)

    def initialise_xavier(self) -> None:
        """Weights Xavier-uniform, bias zero."""
        nn.init.xavier_uniform_(self.linear.weight)
        nn.init.zeros_(self.linear.bias)


@register_encoder("none")
class Identity(Encoder):
    """Encoder `none`: an item is its word's vector."""

    uses = frozenset()
    is_identity = True
    reach = 0
    replayable = True
    training_cost = 0.2

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
