"""Documents of one length together, or nearly one: little or no padding to step over."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from verax.models.pooled import PooledClassifier
from verax.models.trace import Trace


@dataclass(frozen=True, eq=False)
class LengthGroup:
    """Documents of a flat trace that have the same number of tokens, or nearly.

    rows      (documents,) long: where they stand in the batch
    length    tokens of the longest, SOS and EOS included
    counts    (documents,) long: words of each
    first     where words begin: 1 where SOS and EOS are read, else 0
    embedded  (documents, length, embedding)
    states    (documents, length, size), grounded
    encoded   the same before grounding, where that added to it
    """

    rows: Tensor
    length: int
    counts: Tensor
    first: int
    embedded: Tensor
    states: Tensor
    encoded: Tensor

    @property
    def words(self) -> int:
        """Words of the longest."""
        return self.length - 2 * self.first

    @property
    def places(self) -> Tensor:
        """(words,) long: where the words stand among the tokens."""
        return torch.arange(self.words, device=self.rows.device) + self.first

    @property
    def columns(self) -> slice:
        """The same as a slice."""
        return slice(self.first, self.first + self.words)


def alike(
    model: PooledClassifier, trace: Trace, most: int, slack: float = 0.0
) -> Iterator[LengthGroup]:
    """A flat trace cut by length, at most as many documents at once as `most` words allow.

    With some `slack` a document may be shorter than its group's longest by that share of it.
    """
    lengths = trace.batch.lengths.numpy()
    first = int(model.boundaries)
    order = np.argsort(-lengths, kind="stable")
    order = order[lengths[order] > 2 * first]
    descending = lengths[order]
    start = 0
    while start < len(order):
        length = int(descending[start])
        shortest = (1 - slack) * length
        similar = int(np.searchsorted(-descending, -shortest, side="right"))
        last = min(similar, start + max(1, most // (length - 2 * first)))
        rows = torch.from_numpy(np.sort(order[start:last])).to(trace.tokens.device)
        start = last
        embedded, states = trace.embedded[rows, :length], trace.states[rows, :length]
        residual = model.grounding == "residual"
        yield LengthGroup(
            rows=rows,
            length=length,
            counts=trace.batch.lengths.to(rows.device)[rows] - 2 * first,
            first=first,
            embedded=embedded,
            states=states,
            encoded=states - embedded if residual else states,
        )


def turned(values: Tensor, counts: Tensor, dim: int) -> Tensor:
    """Each document's first so many values along a dimension turned round, the rest left in place.

    >>> turned(torch.tensor([[1, 2, 3], [4, 5, 0]]), torch.tensor([3, 2]), 1).tolist()
    [[3, 2, 1], [5, 4, 0]]
    """
    places = torch.arange(values.shape[dim], device=values.device)
    ends = counts.unsqueeze(-1)
    index = torch.where(places < ends, ends - 1 - places, places)
    shape = [1] * values.dim()
    shape[0], shape[dim] = index.shape
    return values.gather(dim, index.view(shape).expand(values.shape))
