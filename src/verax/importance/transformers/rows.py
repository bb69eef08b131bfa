"""Attention of a Transformer by layer and head: what the classifier's own positions attend to."""

from __future__ import annotations

from torch import Tensor

from verax.corpora.batching import MAX_TOKENS
from verax.importance.transformers.captured import captured
from verax.importance.transformers.positions import positions_of
from verax.models.transformers.classifier import TransformerClassifier, TransformerTrace


def layer_head_rows(
    model: TransformerClassifier, trace: TransformerTrace, max_tokens: int = MAX_TOKENS
) -> Tensor:
    """r·A of each layer and head by words, (batch, layers, heads, words) in float64.

    r is what the classifier reads: the first position, the last, or the mean of all. Of an encoder
    before a decoder, which only the decoder reads, it is the mean of all positions. A word's pieces
    are added up, those of encoder and decoder as well. What goes to special tokens or to a sink
    belongs to no word: rows sum to one less `special_share`.

    Args:
        model: a Transformer.
        trace: a pass of it; what was captured is kept in its cache.
        max_tokens: padded tokens held at once.
    """
    rows = captured(model, trace, max_tokens).rows
    positions = positions_of(model, trace.pieces)
    return positions.sum_by_word(rows, trace.mask.shape[1]).double()


def special_share(
    model: TransformerClassifier, trace: TransformerTrace, max_tokens: int = MAX_TOKENS
) -> Tensor:
    """The share of r·A that goes to no word, (batch, layers, heads) in float64.

    Special tokens have it, such as [CLS] and [SEP], signs between words, or a sink, which takes
    weight off all positions.

    Args:
        model: a Transformer.
        trace: a pass of it.
        max_tokens: padded tokens held at once.
    """
    return (1 - layer_head_rows(model, trace, max_tokens).sum(-1)).clamp(0, 1)
