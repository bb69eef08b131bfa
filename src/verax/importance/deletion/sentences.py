"""Leave-one-out in a hierarchical model: only the word's own sentence is read again.

Its new vector takes the old one's place among the document's sentences, which are encoded and
attended anew. A sentence whose only word goes is gone as well.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from verax.importance.deletion.rereading import without_each
from verax.models.hierarchical import HierarchicalClassifier
from verax.models.layers import ground, pool
from verax.models.trace import Trace


def logits_without_words(
    model: HierarchicalClassifier, trace: Trace, max_tokens: int
) -> Iterator[tuple[Tensor, Tensor]]:
    """Words, as places in the flattened tokens, and the logits without each, (words, classes)."""
    layout = trace.batch.layout
    assert layout is not None
    sentences = model.sentences(trace.batch, trace.states)
    counts = layout.mask.sum(-1)
    width = trace.tokens.shape[1]
    for tokens, vectors in _shortened(model, trace, max_tokens):
        document = torch.div(tokens, width, rounding_mode="floor")
        place = layout.sentence_of_token.flatten()[tokens]
        # documents with as many sentences together: the longest sets the width
        order = counts[document].argsort(descending=True, stable=True)
        first = 0
        while first < len(order):
            widest = int(counts[document[order[first]]])
            now = order[first : first + max(1, max_tokens // widest)]
            first += len(now)
            logits = _decide(
                model,
                sentences[document[now], :widest],
                counts[document[now]],
                place[now],
                None if vectors is None else vectors[now],
            )
            yield tokens[now], logits


def _shortened(
    model: HierarchicalClassifier, trace: Trace, max_tokens: int
) -> Iterator[tuple[Tensor, Tensor | None]]:
    """Words and the vector of each one's sentence without it; None where that sentence is gone."""
    layout = trace.batch.layout
    assert layout is not None
    for vectors, group in zip(layout.split(trace.embedded), layout.groups, strict=True):
        lengths = group.mask.sum(-1)
        only = (lengths == 1).nonzero().squeeze(-1)
        if len(only):
            yield group.index[only, 0], None
        sentence, place = (group.mask & (lengths > 1).unsqueeze(-1)).nonzero(as_tuple=True)
        if not len(place):
            continue
        width = group.mask.shape[1]
        for now in torch.arange(len(place), device=place.device).split(max(1, max_tokens // width)):
            owner = sentence[now].unsqueeze(-1)
            columns = without_each(width, place[now])
            words, mask = vectors[owner, columns], group.mask[owner, columns]
            left = (lengths[owner.squeeze(-1)] - 1).cpu()
            states = ground(model.encoder(words, mask, left), words, model.grounding)
            _, weights = model.word_attention(states, mask)
            yield group.index[sentence[now], place[now]], pool(weights, states)


def _decide(
    model: HierarchicalClassifier,
    sentences: Tensor,
    counts: Tensor,
    place: Tensor,
    vectors: Tensor | None,
) -> Tensor:
    """Logits of documents (n, sentences, size) with one sentence in each replaced, or removed."""
    rows = torch.arange(len(place), device=place.device)
    if vectors is not None:
        sentences[rows, place] = vectors
    else:
        sentences = sentences[rows.unsqueeze(-1), without_each(sentences.shape[1], place)]
        counts = counts - 1
    if sentences.shape[1] == 0:
        return model.head(sentences.new_zeros(len(rows), model.sentence_encoder.output_size))
    mask = torch.arange(sentences.shape[1], device=place.device) < counts.unsqueeze(-1)
    sentences = sentences * mask.unsqueeze(-1)
    items = model.sentence_encoder(sentences, mask, counts.cpu())
    _, weights = model.attention(items, mask)
    return model.head(pool(weights, items))
