"""Several words of a text taken away at once, for any model and by any operator."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from verax.budget import SCALARS_PER_TOKEN
from verax.corpora.batch import Batch, SentenceLayout
from verax.corpora.batching import MAX_TOKENS
from verax.corpora.ragged import Ragged
from verax.corpora.vocabulary import PAD, UNK
from verax.errors import VeraxError, nearest
from verax.importance.tracing import frozen_for_gradients
from verax.models.kinds import ATTENTION, DELETE, MASK, POOLED
from verax.models.pooled import PooledClassifier
from verax.models.trace import Trace
from verax.time_limit import check_time


def check_operator(operator: str, model: Any) -> None:
    """Refuse a way to take words away that a model does not have."""
    if operator not in model.operators:
        raise VeraxError(
            f"operator {operator!r}: {nearest(operator, model.operators)}",
            code="option.unknown-value",
        )


@torch.no_grad()
def logits_without_sets(
    model: Any,
    trace: Any,
    rows: Tensor,
    removed: Tensor,
    max_tokens: int = MAX_TOKENS,
    operator: str = DELETE,
) -> Tensor:
    """Return the logits of texts without some of their words.

    The operators, for models that pool items by attention:

    delete     runs the model again on the remaining words. SOS and EOS stay, and a sentence goes
               with its last word. Without any word, the logits are the bias.
    mask       replaces each word by the unknown word.
    attention  sets the weights of the words to zero and rescales the others to sum to one, as in
               the exam erasure; float64. Without any weight, the logits are the bias.

    Args:
        model: a model of any kind.
        trace: the trace of a batch of texts.
        rows: (variants,) long, the text of the batch that each variant is derived from.
        removed: (variants, tokens) bool, the words to remove.
        max_tokens: the most padded tokens per forward pass.
        operator: one of `model.operators`: delete, mask or attention.

    Returns:
        (variants, classes).
    """
    check_operator(operator, model)
    if model.kind != POOLED:
        return model.logits_without(trace, rows, removed, operator, max_tokens)
    if operator == ATTENTION:
        return _unattended(trace, rows, removed, max_tokens)
    words = trace.batch.words
    if operator == MASK:
        return _masked(model, trace, rows, removed & words[rows], max_tokens)
    kept = trace.token_mask[rows] & ~(removed & words[rows])
    empty = ~(kept & words[rows]).any(-1)
    nothing = trace.items.new_zeros(1, trace.items.shape[-1])
    with frozen_for_gradients(model):
        logits = model.head(nothing).repeat(len(rows), 1)
        lengths = kept.sum(-1).masked_fill(empty, 0)
        # the shortest first, so that texts of like length are read together
        order = lengths.argsort(stable=True)[int(empty.sum()) :]
        for some, width in _alike(order, lengths, max_tokens):
            check_time()
            logits[some] = model(_shortened(trace.batch, rows[some], kept[some], width)).logits
    return logits


def _alike(order: Tensor, lengths: Tensor, max_tokens: int) -> list[tuple[Tensor, int]]:
    """Variants in this order, from short to long, cut into passes, and the longest of each."""
    ends = lengths[order].cpu().numpy()
    parts = []
    first = 0
    while first < len(order):
        most = ends[first : first + max(1, max_tokens // max(1, int(ends[first])))]
        padded = most * np.arange(1, len(most) + 1)
        last = first + max(1, int(np.searchsorted(padded, max_tokens, side="right")))
        parts.append((order[first:last], int(ends[last - 1])))
        first = last
    return parts


def _masked(
    model: PooledClassifier, trace: Trace, rows: Tensor, removed: Tensor, max_tokens: int
) -> Tensor:
    """Logits with the unknown word in the place of some words."""
    batch = trace.batch
    lengths = batch.lengths.to(rows.device)[rows]
    logits = trace.logits.new_empty(len(rows), trace.logits.shape[-1])
    with frozen_for_gradients(model):
        for some, width in _alike(lengths.argsort(stable=True), lengths, max_tokens):
            check_time()
            everything = batch.token_mask[rows[some]]
            read = _shortened(batch, rows[some], everything, width)
            tokens = read.tokens.masked_fill(removed[some, :width], UNK)
            logits[some] = model(replace(read, tokens=tokens)).logits
    return logits


def _unattended(trace: Trace, rows: Tensor, removed: Tensor, max_tokens: int) -> Tensor:
    """Logits with the weights of some words at zero and the rest scaled up; float64."""
    weights = trace.weights.double().masked_fill(~trace.mask, 0.0)
    affine = trace.is_affine
    values = (trace.item_logits if affine else trace.items).double()
    values = values.masked_fill(~trace.mask.unsqueeze(-1), 0.0)
    bias = trace.bias.double()
    parts = []
    together = max(1, SCALARS_PER_TOKEN * max_tokens // max(1, values[0].numel()))
    for some in torch.arange(len(rows), device=rows.device).split(together):
        kept = weights[rows[some]].masked_fill(removed[some], 0.0)
        left = kept.sum(-1, keepdim=True)
        sums = (kept.unsqueeze(1) @ values[rows[some]]).squeeze(1)
        means = sums / torch.where(left > 0, left, 1.0)
        logits = means if affine else trace.head(means.to(trace.items)).double()
        parts.append(torch.where(left > 0, logits, bias))
    return torch.cat(parts) if parts else bias.expand(0, -1)


def _shortened(batch: Batch, rows: Tensor, kept: Tensor, width: int) -> Batch:
    """The texts at `rows` with the tokens of `kept` (variants, tokens) alone, moved together."""
    places = (~kept).long().argsort(dim=-1, stable=True)[:, :width]
    lengths = kept.sum(-1)
    read = torch.arange(width, device=kept.device) < lengths.unsqueeze(-1)
    layout = None
    if batch.layout is None:
        mask = batch.mask[rows].gather(-1, places) & read
    else:
        layout = _layout(batch.layout, rows, kept, width)
        mask = layout.mask
    return replace(
        batch,
        tokens=batch.tokens[rows].gather(-1, places).masked_fill(~read, PAD),
        token_mask=read,
        mask=mask,
        lengths=lengths.cpu(),
        labels=None,
        ids=batch.ids[rows.cpu().numpy()],
        row_index=batch.row_index[rows],
        layout=layout,
        texts=None,
    )


def _layout(layout: SentenceLayout, rows: Tensor, kept: Tensor, width: int) -> SentenceLayout:
    """Sentences of what is left, without those that have lost all their words."""
    sentence = layout.sentence_of_token[rows]
    counts = torch.zeros(len(rows), layout.mask.shape[1] + 1, dtype=torch.long, device=kept.device)
    counts.scatter_add_(1, torch.where(kept, sentence, layout.mask.shape[1]), kept.long())
    left = counts[:, :-1].cpu().numpy()
    some = left > 0
    sentences = Ragged.from_lengths(left[some], some.sum(-1))
    return SentenceLayout.of(sentences, width, kept.device)
