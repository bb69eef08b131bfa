"""One layer over each word by itself: a model in which no word sees another."""

from __future__ import annotations

from torch import Tensor, nn

from verax.models.encoders.base import Encoder
from verax.models.noise import Noise


class Pointwise(Encoder):
    """Encoder `mlp`: h_t = tanh(W e_t + b).

    What Wiegreffe & Pinter (2019, section 3.4) put other models' attention on, and Jain & Wallace's
    encoder "average" in their code: a state knows its own word and nothing of what stands around.
    """

    def __init__(self, input_size: int, output_size: int) -> None:
        super().__init__()
        self.linear = nn.Linear(input_size, output_size)
        self.output_size = output_size

    def forward(
        self, inputs: Tensor, mask: Tensor, lengths: Tensor, noise: Noise | None = None
    ) -> Tensor:
        return self.linear(inputs).tanh() * mask.unsqueeze(-1)

    def initialise_xavier(self) -> None:
        """Weights Xavier-uniform, bias zero."""
        nn.init.xavier_uniform_(self.linear.weight)
        nn.init.zeros_(self.linear.bias)
