"""What becomes of the decision's probability when an attended item is deleted from the text."""

from __future__ import annotations

import torch
from torch import Tensor

from verax.importance import leave_one_out
from verax.importance.decision import lost
from verax.importance.deletion.rereading import without_each
from verax.importance.tracing import frozen_for_gradients
from verax.models.classifier import AttentionClassifier
from verax.models.hierarchical import HierarchicalClassifier
from verax.models.layers import decisions, pool
from verax.models.trace import Trace


@torch.no_grad()
def change_without(model: AttentionClassifier, trace: Trace, max_tokens: int) -> Tensor:
    """p_y′ − p_y, (batch, items) in float64: the word, or the sentence, deleted, and all read anew.

    Negative where it speaks for the decision. When the last one goes, the bias decides.
    """
    if isinstance(model, HierarchicalClassifier):
        return -_lost_with_sentences(model, trace, max_tokens)
    return -leave_one_out(model, trace, "inputs", signed=True, max_tokens=max_tokens)


def _lost_with_sentences(model: HierarchicalClassifier, trace: Trace, max_tokens: int) -> Tensor:
    """Sentences are read apart from each other: only what reads their vectors is run again."""
    losses = torch.zeros(trace.mask.shape, dtype=torch.float64, device=trace.mask.device)
    decided = decisions(trace.logits)
    with frozen_for_gradients(model):
        vectors = model.sentences(trace.batch, trace.states)
        for row, count in enumerate(trace.mask.sum(-1).tolist()):
            each = torch.arange(count, device=losses.device)
            for places in each.split(max(1, max_tokens // count)):
                without = _decide(model, vectors[row, without_each(count, places)])
                whole = trace.logits[row].expand_as(without)
                losses[row, places] = lost(decided[row, None], whole[None], without[None])[0]
    return losses


def _decide(model: HierarchicalClassifier, vectors: Tensor) -> Tensor:
    """Logits of documents that all have as many sentences, (documents, sentences, size)."""
    many, count, _ = vectors.shape
    if count == 0:
        return model.head(vectors.new_zeros(many, model.sentence_encoder.output_size))
    mask = torch.ones(many, count, dtype=torch.bool, device=vectors.device)
    items = model.sentence_encoder(vectors, mask, torch.full((many,), count))
    _, weights = model.attention(items, mask)
    return model.head(pool(weights, items))
