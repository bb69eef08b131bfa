"""Leave-one-out through one recurrent layer, without reading the text again for every word.

Deleting word i changes the forward states of t > i and the backward states of t < i, nothing else.
What a word gives the gates is worked out once. Going through the text, every deletion branches off
the original reading at its word and advances with all the others: n²/2 steps in each direction,
where reading every shortened text takes n².
"""

from __future__ import annotations

from collections.abc import Iterator

import torch

from verax.budget import rows_within
from verax.importance.deletion.deletions import Deletions, decide
from verax.importance.deletion.direction import Direction
from verax.importance.deletion.long_texts import long_text
from verax.importance.deletion.readout import Readout
from verax.importance.recurrence import LONG
from verax.importance.similar_length import LengthGroup, alike, turned
from verax.models.encoders import Recurrent, has_one_layer
from verax.models.pooled import PooledClassifier
from verax.models.trace import Trace

_TOKENS_PER_ROW = 8
_SLACK = 0.15


def fits(model: PooledClassifier) -> bool:
    return has_one_layer(model.encoder) and Readout.fits(model)


def logits_without_words(
    model: PooledClassifier, trace: Trace, max_tokens: int
) -> Iterator[Deletions]:
    """See `Deletions`.

    A row of states stands for some tokens in the budget, and so do the scores and logits that each
    deletion has for every word left.
    """
    longest = int(trace.batch.lengths.max())
    readout = Readout(model)
    most = rows_within(max_tokens, _TOKENS_PER_ROW, longest, readout.classes)
    for group in alike(model, trace, most, _SLACK):
        if group.words > LONG and len(group.rows) == 1:
            yield from long_text(model, group, readout)
        else:
            yield from _group(model, group, readout, most)


def _group(
    model: PooledClassifier, group: LengthGroup, readout: Readout, most: int
) -> Iterator[Deletions]:
    encoder, n = model.encoder, group.words
    assert isinstance(encoder, Recurrent)
    together = max(1, min(n, most // len(group.rows)))
    blocks = [(start, min(n, start + together)) for start in range(0, n, together)]
    # turned round, what was deleted last is deleted first; several blocks are of one document
    turned_blocks = [(n - last, n - first) for first, last in blocks]
    ahead = Direction(encoder.forwards[0], group, readout, blocks, back=False)
    back = Direction(encoder.backwards[0], group, readout, turned_blocks, back=True)
    place = group.places - group.first
    alone = len(group.rows) == 1
    for block, turned_block in zip(blocks, turned_blocks, strict=True):
        deleted = place[slice(*block)]
        after = (place >= deleted.unsqueeze(-1)).unsqueeze(0)
        every = (place < group.counts.view(-1, 1, 1)).expand(-1, len(deleted), -1)
        left = every & (place != deleted.unsqueeze(-1))
        later, earlier = ahead.run(block), back.run(turned_block)
        logits = []
        # the reading branched off from goes along as a deletion of nothing, before the others
        for rows, attended in ((slice(1, None), left), (slice(0, 1), every)):
            parts = [v[:, rows] for v in earlier]
            parts = [v.flip(2) if alone else turned(v, group.counts, 2) for v in parts]
            if rows.start:
                parts = [v.flip(1) if alone else turned(v, group.counts, 1) for v in parts]
            scores = torch.where(after, later[0][:, rows], parts[0])
            says = torch.where(after.unsqueeze(-1), later[1][:, rows], parts[1])
            logits.append(decide(model, scores, says, attended))
        yield Deletions(group.rows, deleted + group.first, *logits)
