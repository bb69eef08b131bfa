"""What a state of a convolution says for any five words in its window."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from verax.importance.deletion.readout import Readout
from verax.models.encoders import Convolution
from verax.models.layers import ground

REACH = 2
"""Words to either side that a state sees."""


class Windows:
    """A convolution as a sum of taps: T_o(x_{t+o}) is worked out once for each word and offset.

    Args:
        model: a pooled model whose encoder is a `Convolution`, with a readout that is known.
    """

    def __init__(self, model: Any) -> None:
        encoder = model.encoder
        assert isinstance(encoder, Convolution)
        self._filters = (encoder.narrow, encoder.wide)
        self._readout, self._grounding = Readout(model), model.grounding
        attention, head = model.known_readout
        self._uniform, self._bias = attention.projection == "uniform", head.bias
        self.size = encoder.output_size

    def taps(self, vectors: Tensor) -> list[dict[int, Tensor]]:
        """For each filter offset → (…, size): what vectors (…, embedding) add at that offset."""
        products = []
        for filters in self._filters:
            reach = filters.weight.shape[-1] // 2
            products.append(
                {o: vectors @ filters.weight[:, :, o + reach].T for o in range(-reach, reach + 1)}
            )
        return products

    def read(self, sums: list[Tensor], vectors: Tensor) -> tuple[Tensor, Tensor]:
        """Scores (…) and item logits (…, classes) of states whose taps are added up.

        Args:
            sums: for each filter (…, size), without the filter's bias.
            vectors: (…, embedding): the state's own word.
        """
        halves = []
        for one, filters in zip(sums, self._filters, strict=True):
            assert filters.bias is not None
            halves.append((one + filters.bias).relu())
        states = ground(torch.cat(halves, dim=-1), vectors, self._grounding)
        scores, says = self._readout.finish(self._readout.features(states))
        return (torch.zeros_like(scores) if self._uniform else scores), says + self._bias
