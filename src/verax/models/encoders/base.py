"""What every encoder is: a map from embedded words to as many states."""

from __future__ import annotations

from abc import ABC, abstractmethod

from torch import Tensor, nn

from verax.models.noise import Noise


class Encoder(nn.Module, ABC):
    """Embedded words to states, one for each position.

    inputs   (batch, positions, input size)
    mask     (batch, positions) bool, True where there is something to read
    lengths  (batch,) long, on CPU: True positions of each row, which stand first
    returns  (batch, positions, output size), zero beyond the end
    """

    output_size: int

    @abstractmethod
    def forward(
        self, inputs: Tensor, mask: Tensor, lengths: Tensor, noise: Noise | None = None
    ) -> Tensor: ...

    def initialise_xavier(self) -> None:
        """Serrano & Smith's initialisation, where an encoder has one; else PyTorch's stands."""


class Identity(Encoder):
    """Encoder `none`: an item is its word's vector."""

    def __init__(self, input_size: int) -> None:
        super().__init__()
        self.output_size = input_size

    def forward(
        self, inputs: Tensor, mask: Tensor, lengths: Tensor, noise: Noise | None = None
    ) -> Tensor:
        return inputs * mask.unsqueeze(-1)
