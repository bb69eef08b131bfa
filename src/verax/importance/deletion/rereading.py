"""Leave-one-out for any flat model: every shortened text is read, as many at once as fit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import torch
from torch import Tensor

from verax.importance.deletion.deletions import Deletions
from verax.importance.similar_length import LengthGroup, alike
from verax.models.pooled import PooledClassifier
from verax.models.trace import Trace


def logits_without_words(
    model: PooledClassifier, trace: Trace, max_tokens: int
) -> Iterator[Deletions]:
    """See `Deletions`."""
    longest = max(1, int(trace.batch.lengths.max()))
    most = max(1, max_tokens // longest)
    for group in alike(model, trace, most):
        block = max(1, most // len(group.rows))
        for places in group.places.split(block):
            logits = _read(model, trace, group, places)
            whole = trace.logits[group.rows].unsqueeze(1).expand_as(logits)
            yield Deletions(group.rows, places, logits, whole)


def _read(model: PooledClassifier, trace: Trace, group: LengthGroup, places: Tensor) -> Tensor:
    shape = (len(group.rows), len(places), -1)
    if group.words == 1:  # nothing is left to attend
        return model.head(group.states.new_zeros(*shape[:2], group.states.shape[-1]))
    columns = without_each(group.length, places)
    tokens = trace.tokens[group.rows][:, columns].flatten(0, 1)
    mask = trace.mask[group.rows][:, columns].flatten(0, 1)
    copies = group.rows.repeat_interleave(len(places))
    batch = replace(
        trace.batch,
        tokens=tokens,
        token_mask=torch.ones_like(mask),
        mask=mask,
        lengths=torch.full((len(tokens),), group.length - 1),
        labels=None,
        ids=trace.batch.ids[copies.cpu().numpy()],
        row_index=trace.batch.row_index[copies],
        texts=None,
    )
    return model.run(batch, group.embedded[:, columns].flatten(0, 1)).logits.view(shape)


def without_each(length: int, places: Tensor) -> Tensor:
    """(places, length − 1): what is left of 0 … length − 1 without each place.

    >>> without_each(4, torch.tensor([0, 2])).tolist()
    [[1, 2, 3], [0, 1, 3]]
    """
    columns = torch.arange(length - 1, device=places.device).expand(len(places), -1)
    return columns + (columns >= places.unsqueeze(-1))
