"""Several words of a text deleted at once, for pooled models: what is left is read again."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from verax.corpora.batch import Batch, SentenceLayout
from verax.corpora.batching import MAX_TOKENS
from verax.corpora.ragged import Ragged
from verax.corpora.vocabulary import PAD
from verax.importance.tracing import frozen_for_gradients
from verax.models.pooled import PooledClassifier
from verax.models.trace import Trace


@torch.no_grad()
def logits_without_sets(
    model: PooledClassifier,
    trace: Trace,
    rows: Tensor,
    removed: Tensor,
    max_tokens: int = MAX_TOKENS,
) -> Tensor:
    """(variants, classes): logits of texts without some of their words.

    Args:
        model: a pooled model.
        trace: a batch of texts.
        rows: (variants,) long: which text of the batch each variant is of.
        removed: (variants, tokens) bool: the words that are deleted.
        max_tokens: padded tokens held at once.

    SOS and EOS stay, and a sentence goes with its last word. Where no word is left, the bias
    decides.
    """
    words = trace.batch.words
    kept = trace.token_mask[rows] & ~(removed & words[rows])
    empty = ~(kept & words[rows]).any(-1)
    nothing = trace.items.new_zeros(1, trace.items.shape[-1])
    with frozen_for_gradients(model):
        logits = model.head(nothing).repeat(len(rows), 1)
        lengths = kept.sum(-1).masked_fill(empty, 0)
        # the shortest first, so that texts of like length are read together
        order = lengths.argsort(stable=True)[int(empty.sum()) :]
        ends = lengths[order].tolist()
        first = 0
        while first < len(order):
            last = first + 1
            while last < len(order) and ends[last] * (last + 1 - first) <= max_tokens:
                last += 1
            some = order[first:last]
            batch = _shortened(trace.batch, rows[some], kept[some], ends[last - 1])
            logits[some] = model(batch).logits
            first = last
    return logits


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
        spelling=None,
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
