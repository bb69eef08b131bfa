"""Convolutions of widths 3 and 5, side by side (Serrano & Smith 2019)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import torch
from torch import Tensor, nn

from verax.models.encoders.base import Encoder, refuse_odd_size, register_encoder
from verax.models.hashed_dropout import HashedDropout

if TYPE_CHECKING:
    from verax.models.options import ModelOptions

_PLACE = 101


@register_encoder("conv")
class Convolution(Encoder):
    """ReLU of two 1-d convolutions, half the output size each, concatenated.

    Zero padding keeps the length; inputs are masked before and outputs after, so a word next to
    the end sees zeros there, never padding. Dropout of its own on the input.
    """

    uses = frozenset({"hidden_size", "dropout_encoder"})
    default_dropout = 0.3
    reach = 2
    replayable = True
    training_cost = 1.0

    def __init__(self, input_size: int, output_size: int, dropout: float) -> None:
        super().__init__()
        self.narrow = nn.Conv1d(input_size, output_size // 2, 3, padding=1)
        self.wide = nn.Conv1d(input_size, output_size // 2, 5, padding=2)
        self.dropout = dropout
        self.output_size = output_size

    @classmethod
    def make(cls, input_size: int, options: ModelOptions) -> Self:
        return cls(input_size, options.hidden_size, options.dropout_of(cls))

    @classmethod
    def refuse(cls, options: ModelOptions) -> None:
        refuse_odd_size(options)

    def forward(
        self, inputs: Tensor, mask: Tensor, lengths: Tensor, noise: HashedDropout | None = None
    ) -> Tensor:
        inside = mask.unsqueeze(-1)
        if noise is not None:
            inputs = noise.dropout(inputs, self.dropout, _PLACE)
        channels = (inputs * inside).transpose(1, 2)
        states = torch.cat([self.narrow(channels), self.wide(channels)], dim=1).relu()
        return states.transpose(1, 2) * inside
