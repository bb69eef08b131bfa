"""Copies of a batch that are read together, within the budget of padded tokens."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from verax.corpora.batch import Batch


def copies_within(batch: Batch, max_tokens: int) -> int:
    """How many copies of a batch fit into the budget of padded tokens, at least one.

    Sentences regroup by length, so a hierarchical batch is read once at a time.
    """
    if batch.layout is not None:
        return 1
    return max(1, max_tokens // max(1, batch.tokens.numel()))


def repeated(batch: Batch, copies: int) -> Batch:
    """A flat batch, `copies` times over, one whole copy after the other."""
    if copies == 1:
        return batch
    return replace(
        batch,
        tokens=batch.tokens.repeat(copies, 1),
        token_mask=batch.token_mask.repeat(copies, 1),
        mask=batch.mask.repeat(copies, 1),
        lengths=batch.lengths.repeat(copies),
        labels=None if batch.labels is None else batch.labels.repeat(copies),
        ids=np.tile(batch.ids, copies),
        row_index=batch.row_index.repeat(copies),
    )
