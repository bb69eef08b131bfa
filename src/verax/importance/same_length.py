"""Documents of one length together: no padding to step over, and turning round is a flip."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from verax.models.classifier import AttentionClassifier
from verax.models.trace import Trace


@dataclass(frozen=True, eq=False)
class Alike:
    """Documents of a flat trace that have the same number of tokens.

    rows      (documents,) long: where they stand in the batch
    length    tokens, SOS and EOS included
    first     where words begin: 1 where SOS and EOS are read, else 0
    embedded  (documents, length, embedding)
    states    (documents, length, size), grounded
    encoded   the same before grounding, where that added to it
    """

    rows: Tensor
    length: int
    first: int
    embedded: Tensor
    states: Tensor
    encoded: Tensor

    @property
    def words(self) -> int:
        return self.length - 2 * self.first

    @property
    def places(self) -> Tensor:
        """(words,) long: where the words stand among the tokens."""
        return torch.arange(self.words, device=self.rows.device) + self.first

    @property
    def columns(self) -> slice:
        """The same as a slice."""
        return slice(self.first, self.first + self.words)


def alike(model: AttentionClassifier, trace: Trace, most: int) -> Iterator[Alike]:
    """A flat trace cut by length, at most as many documents at once as `most` words allow."""
    lengths = trace.batch.lengths.numpy()
    first = int(bool(model.options.boundaries))
    for length in np.unique(lengths):
        words = int(length) - 2 * first
        if words < 1:
            continue
        places = np.flatnonzero(lengths == length)
        together = max(1, most // words)
        for start in range(0, len(places), together):
            rows = torch.from_numpy(places[start : start + together]).to(trace.tokens.device)
            embedded, states = trace.embedded[rows, :length], trace.states[rows, :length]
            residual = model.options.grounding == "residual"
            yield Alike(
                rows=rows,
                length=int(length),
                first=first,
                embedded=embedded,
                states=states,
                encoded=states - embedded if residual else states,
            )
