"""Leave-one-out through a convolution, whose states see no further than their neighbours.

Deleting word i closes the gap, which changes the two states on either side of it (a window of five
reaches two words) and no other. A convolution is a sum of taps, T_o(x_{t+o}): these are worked out
once a word, and a state adds up those of its neighbours, old or new.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor
from torch.nn import functional

from verax.budget import rows_within
from verax.importance.deletion.deletions import Deletions
from verax.importance.deletion.readout import Readout
from verax.importance.similar_length import LengthGroup, alike
from verax.models.encoders import Convolution
from verax.models.layers import ground
from verax.models.pooled import PooledClassifier
from verax.models.trace import Trace

_REACH = 2
_NEIGHBOURS = (-2, -1, 1, 2)
_PAD = 2 * _REACH + 1  # a state two words off sees two words further, over the gap one more
_TOKENS_PER_ROW = 4


def fits(model: PooledClassifier) -> bool:
    return model.encoder.computes_as(Convolution) and Readout.fits(model)


def logits_without_words(
    model: PooledClassifier, trace: Trace, max_tokens: int
) -> Iterator[Deletions]:
    """See `Deletions`."""
    longest = int(trace.batch.lengths.max())
    readout = Readout(model)
    most = rows_within(max_tokens, _TOKENS_PER_ROW, longest, readout.classes)
    for group in alike(model, trace, most):
        states = _States(model, group, readout)
        block = max(1, most // len(group.rows))
        for places in group.places.split(block):
            yield Deletions(group.rows, places, *_decide(model, group, states, places))


class _States:
    """What the states of some documents are read for, as they are and beside a gap."""

    def __init__(self, model: PooledClassifier, group: LengthGroup, readout: Readout) -> None:
        encoder = model.encoder
        assert isinstance(encoder, Convolution)
        self.model, self.readout = model, readout
        self.filters = (encoder.narrow, encoder.wide)
        self.padded = functional.pad(group.embedded, (0, 0, _PAD, _PAD))
        # for each width, offset −reach … reach: (documents, length + padding, size)
        self.taps = [
            [self.padded @ filters.weight[:, :, k].T for k in range(filters.weight.shape[-1])]
            for filters in self.filters
        ]
        self.scores, self.says = self.read(int(group.places[0]), group.words, 0)

    def read(self, first: int, many: int, r: int) -> tuple[Tensor, Tensor]:
        """Scores (documents, many) and what is said (…, classes) by the state at each place + r
        once the word at the place is gone; by the state at the place itself, as it is, for r = 0.
        """
        halves = []
        start = first + _PAD
        for filters, products in zip(self.filters, self.taps, strict=True):
            assert filters.bias is not None
            reach = len(products) // 2
            total = filters.bias.expand(len(self.padded), many, -1).clone()
            for o, product in zip(range(-reach, reach + 1), products, strict=True):
                off = r + o
                off += int(r < 0 <= off) - int(r > 0 >= off)  # over the gap
                total += product[:, start + off : start + off + many]
            halves.append(total.relu_())
        vectors = self.padded[:, start + r : start + r + many]
        states = ground(torch.cat(halves, dim=-1), vectors, self.model.grounding)
        scores, says = self.readout.finish(self.readout.features(states))
        return scores.double(), says.double()


def _decide(
    model: PooledClassifier, group: LengthGroup, states: _States, places: Tensor
) -> tuple[Tensor, Tensor]:
    """(documents, places, classes) logits without each place, and with all.

    A gap among words without weight, old and new, cannot have changed anything.
    """
    start, many, n = int(places[0]) - group.first, len(places), group.words
    documents = len(group.rows)
    scores, says = states.scores, states.says
    every = torch.ones_like(scores, dtype=torch.bool)
    assert model.known_readout is not None
    attention, head = model.known_readout
    before = attention.weigh(scores, every)
    bias = head.bias.double()
    whole = (before.unsqueeze(1) @ says + bias).expand(-1, many, -1)
    new = {r: states.read(int(places[0]), many, r) for r in _NEIGHBOURS}
    changed = scores.unsqueeze(1).repeat(1, many, 1)
    for r, (score, _) in new.items():
        entries, kept = _beside(changed, start + r)
        entries.copy_(score[:, kept])
    left = torch.arange(n, device=places.device) != (places - group.first).unsqueeze(-1)
    left = left.repeat(documents, 1)
    weights = attention.weigh(changed.view(-1, n), left).view(documents, many, n)
    logits = weights @ says
    idle = before[:, start : start + many] == 0
    for r, (_, now_says) in new.items():
        weight, kept = _beside(weights, start + r)
        column = slice(max(0, start + r), max(0, start + r) + weight.shape[1])
        logits[:, kept] += weight.unsqueeze(-1) * (now_says[:, kept] - says[:, column])
        idle[:, kept] &= (weight == 0) & (before[:, column] == 0)
    return torch.where(idle.unsqueeze(-1), whole, logits + bias), whole


def _beside(matrix: Tensor, offset: int) -> tuple[Tensor, slice]:
    """The entries [:, p, p + offset] of a matrix that are there, and for which p."""
    entries = matrix.diagonal(offset, 1, 2)
    first = max(0, -offset)
    return entries, slice(first, first + entries.shape[-1])
