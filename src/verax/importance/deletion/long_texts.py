"""Leave-one-out through one recurrent layer in a long text, in time that grows with its words.

Once a word is gone, the states of a direction go another way for a while and then meet the original
ones again (see `recurrence`). Deletions of neighbouring words advance together until all have met.
Only what differs is kept: every other word has the score and says what it does in the whole text.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from verax.budget import NUMBERS, parts_within
from verax.importance.deletion.deletions import Deletions
from verax.importance.deletion.direction import Block, Direction
from verax.importance.deletion.readout import Readout
from verax.importance.recurrence import EVERY, TOGETHER
from verax.importance.similar_length import LengthGroup
from verax.models.encoders import Recurrent
from verax.models.layers import Attention
from verax.models.pooled import PooledClassifier


class Changed(NamedTuple):
    """By how much words of a stretch are read differently without each word of a block; float64.

    first   the first word of the stretch
    scores  (deletions, words)
    says    (deletions, words, classes)
    """

    first: int
    scores: Tensor
    says: Tensor

    @property
    def stretch(self) -> slice:
        return slice(self.first, self.first + self.scores.shape[1])


def long_text(model: PooledClassifier, group: LengthGroup, readout: Readout) -> Iterator[Deletions]:
    """See `Deletions`; of one document."""
    encoder, n = model.encoder, group.words
    assert isinstance(encoder, Recurrent)
    assert model.known_readout is not None
    together = max(1, min(n, TOGETHER, NUMBERS // (2 * n * (1 + readout.classes))))
    blocks = [(start, min(n, start + together)) for start in range(0, n, together)]
    turned = [(n - last, n - first) for first, last in blocks]
    ahead = Direction(encoder.forwards[0], group, readout, blocks, back=False)
    back = Direction(encoder.backwards[0], group, readout, turned, back=True)
    scores, says = (values.double() for values in readout.finish(readout.features(group.states[0])))
    scores, says = scores[group.columns], says[group.columns]
    attention, head = model.known_readout
    bias = head.bias.double()
    every = torch.ones_like(scores, dtype=torch.bool)
    whole = attention.weigh(scores.unsqueeze(0), every.unsqueeze(0)) @ says + bias
    for block, turned_block in zip(blocks, turned, strict=True):
        changes = (until_met(ahead, block), in_order(until_met(back, turned_block), n))
        logits = _decide(attention, scores, says, block, changes) + bias
        expanded = whole.expand_as(logits)
        yield Deletions(
            group.rows, group.places[slice(*block)], logits.unsqueeze(0), expanded.unsqueeze(0)
        )


def until_met(direction: Direction, block: Block) -> Changed:
    """Read on from a block's first word until all deletions have met the original reading."""
    first, last = block
    steps, readout = direction.steps, direction.readout
    steps.restore(direction.starts[first])
    scores: list[Tensor] = []
    says: list[Tensor] = []
    for t in range(first, direction.n):
        k = direction.advance(t, block)
        features = (steps.hidden[:k] @ direction.weight).add_(direction.rest[t])
        score, say = (values.squeeze(1).double() for values in readout.finish(features))
        # what is deleted later has changed nothing yet
        more = last - first + 1 - k
        scores.append(functional.pad(score[1:] - score[:1], (0, more)))
        says.append(functional.pad(say[1:] - say[:1], (0, 0, 0, more)))
        if t % EVERY == 0 and t >= last and steps.have_met(k):
            break
    return Changed(first, torch.stack(scores, 1), torch.stack(says, 1))


def in_order(changed: Changed, n: int) -> Changed:
    """What a direction that reads from the end has found, in the order of the text."""
    first = n - changed.stretch.stop
    return Changed(first, changed.scores.flip(0, 1), changed.says.flip(0, 1))


def _decide(
    attention: Attention,
    scores: Tensor,
    says: Tensor,
    block: Block,
    changes: tuple[Changed, Changed],
) -> Tensor:
    """(deletions, classes): logits without each word of a block, but for the bias.

    scores   (words,): those of the whole text
    says     (words, classes)
    changes  those of words behind the deleted one, and of words before it

    Σ_t w_t says_t is taken with what is said in the whole text, and then by how much that changed.
    """
    places = torch.arange(len(scores), device=scores.device)
    deleted = places[slice(*block)].unsqueeze(-1)
    parts = []
    for some in parts_within(len(deleted), len(scores), NUMBERS // 4):
        now = scores.repeat(len(deleted[some]), 1)
        for changed in changes:
            now[:, changed.stretch] += changed.scores[some]
        weights = attention.weigh(now, places != deleted[some])
        logits = weights @ says
        for changed in changes:
            weight = weights[:, changed.stretch].unsqueeze(1)
            logits += (weight @ changed.says[some]).squeeze(1)
        parts.append(logits)
    return torch.cat(parts)
