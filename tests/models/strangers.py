"""An encoder, a projection and an importance as another package would have them.

There each would stand under its decorator; here they are registered for some tests and taken out
again, so that others find what is built in.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from verax.functional import softmax
from verax.importance import IMPORTANCES, register_importance
from verax.models import (
    ENCODERS,
    PROJECTIONS,
    Encoder,
    HashedDropout,
    ModelOptions,
    register_encoder,
    register_projection,
)


class Packed(Encoder):
    """A GRU over packed sequences, which need the true lengths on the CPU."""

    uses = frozenset({"hidden_size"})
    training_cost = 3.0

    def __init__(self, input_size: int, options: ModelOptions) -> None:
        super().__init__()
        self.gru = nn.GRU(input_size, options.hidden_size, batch_first=True)
        self.output_size = options.hidden_size

    def forward(
        self, inputs: Tensor, mask: Tensor, lengths: Tensor, noise: HashedDropout | None = None
    ) -> Tensor:
        assert lengths.device.type == "cpu"
        assert torch.equal(lengths, mask.sum(-1).cpu())
        packed = pack_padded_sequence(inputs, lengths, batch_first=True, enforce_sorted=False)
        states, _ = pad_packed_sequence(
            self.gru(packed)[0], batch_first=True, total_length=inputs.shape[1]
        )
        return states


def cold(scores: Tensor, mask: Tensor | None = None, *, lam: float = 0.0) -> Tensor:
    """Softmax of scores times 2 − λ."""
    return softmax((2 - lam) * scores, mask)


def last(model: Any, trace: Any, on: str = "inputs", *, signed: bool = False) -> Tensor:
    """1, 2, 3, … from the first word, or the first item."""
    shown = trace.batch.words if on == "inputs" else trace.mask
    return shown.cumsum(-1).double() * shown


@contextmanager
def registered() -> Iterator[None]:
    """The three are known by their names in here."""
    register_encoder("toy-packed")(Packed)
    register_projection("toy-cold", uses=("lam",), dense=True)(cold)
    register_importance("toy-last", "the later, the more important", takes=("signed",))(last)
    try:
        yield
    finally:
        ENCODERS.unregister("toy-packed")
        PROJECTIONS.unregister("toy-cold")
        IMPORTANCES.unregister("toy-last")
