"""Leave-one-out: how much of the decision's probability goes with each word, or each item.

Words are deleted and the text read again, or as little of it as will do: one file for each way.
"""

from __future__ import annotations

import torch
from torch import Tensor

from verax.corpora.batching import MAX_TOKENS
from verax.errors import VeraxError, nearest
from verax.importance.decision import Target, class_numbers, lost
from verax.importance.deletion import local, recurrent, rereading, sentences
from verax.importance.deletion.items import logits_without_items
from verax.importance.registry import register_importance
from verax.importance.tracing import BatchOrTrace, check_level, frozen_for_gradients, once, traced
from verax.models.base import evaluation_mode
from verax.models.hierarchical import HierarchicalClassifier
from verax.models.layers import decisions
from verax.models.pooled import PooledClassifier
from verax.models.trace import Trace
from verax.progress import tracked

WEIGHTS = ("projected", "renormalised")
_WORDS = "leaving words out"

__all__ = ["leave_one_out", "logits_without_items", "logits_without_words"]


@register_importance(
    "leave-one-out-renormalised",
    "p − p without it, the other weights scaled up; above 0 it supports the class",
    levels=("items",),
    takes=("signed", "max_tokens", "target"),
    on="items",
    weights="renormalised",
)
@register_importance(
    "leave-one-out",
    "p − p without it; above 0 it supports the class",
    takes=("signed", "max_tokens", "target"),
)
def leave_one_out(
    model: PooledClassifier,
    source: BatchOrTrace,
    on: str = "inputs",
    *,
    weights: str = "projected",
    signed: bool = False,
    max_tokens: int = MAX_TOKENS,
    target: Target | None = None,
) -> Tensor:
    """|p_y − p_y without i|, (batch, tokens) or (batch, items) in float64 (Meister et al., eq. 6).

    On inputs the word is deleted and the model rerun on what is left; SOS and EOS stay. On items
    the item is masked and the projection taken again ("projected"), or its weight is zeroed and the
    others' scaled up ("renormalised"): the same for softmax, not for sparse projections. An item
    without weight changes nothing either way. When the last one goes, the bias decides.

    signed      positive where the word supports y
    max_tokens  bounds what is in memory at once
    target      the class y by name or number, or one for each document; the class decided for,
                unless given
    """
    check_level(on)
    if weights not in WEIGHTS:
        raise VeraxError(
            f"weights is {weights!r}: {nearest(weights, WEIGHTS)}", code="option.unknown-value"
        )
    trace = traced(model, source)
    chosen = class_numbers(model.classes, target, trace.logits)
    key = ("leave_one_out", model, on, weights if on == "items" else "")
    with evaluation_mode(model):
        whole, without, changes = once(
            trace, key, lambda: _deleted(model, trace, on, weights, max_tokens)
        )
    y = decisions(trace.logits) if chosen is None else chosen
    scores = lost(y, whole, without).masked_fill(~changes, 0.0)
    return scores if signed else scores.abs()


@torch.no_grad()
def _deleted(
    model: PooledClassifier, trace: Trace, on: str, weights: str, max_tokens: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Logits with all words or items, and without each, and where that can change something."""
    if on == "inputs" and not model.words_are_items:
        return *_without_words(model, trace, max_tokens), trace.batch.words
    with frozen_for_gradients(model):
        whole, without = logits_without_items(model, trace, weights, max_tokens)
    changes = trace.mask & (trace.weights != 0)
    return whole.unsqueeze(1).expand_as(without), without, changes


@torch.no_grad()
def logits_without_words(
    model: PooledClassifier, trace: Trace, max_tokens: int = MAX_TOKENS
) -> Tensor:
    """Return the logits after deleting each word in turn.

    Args:
        model: a model that pools items by attention.
        trace: the trace of a batch of texts.
        max_tokens: the most padded tokens per forward pass.

    Returns:
        (batch, tokens, classes); the logits of the whole text where a token is not a word.
    """
    if model.words_are_items:
        with frozen_for_gradients(model):
            whole, without = logits_without_items(model, trace, "projected", max_tokens)
        return torch.where(trace.mask.unsqueeze(-1), without, whole.unsqueeze(1))
    return _without_words(model, trace, max_tokens)[1]


def _without_words(model: PooledClassifier, trace: Trace, max_tokens: int) -> tuple[Tensor, Tensor]:
    """Logits with all words, and without each, (batch, tokens, classes) in float64.

    The first are computed as the second are, wherever that is another way than the model's own.
    """
    whole = trace.logits.double().unsqueeze(1).repeat(1, trace.tokens.shape[1], 1)
    without = whole.clone()
    total = int(trace.batch.words.sum())
    with frozen_for_gradients(model):
        if isinstance(model, HierarchicalClassifier):
            pieces = sentences.logits_without_words(model, trace, max_tokens)
            for tokens, logits in tracked(pieces, _WORDS, total, lambda piece: len(piece[0])):
                without.view(-1, without.shape[-1])[tokens] = logits.double()
            return whole, without
        for way in (local, recurrent):
            if way.fits(model):
                parts = way.logits_without_words(model, trace, max_tokens)
                break
        else:
            parts = rereading.logits_without_words(model, trace, max_tokens)
        for rows, places, logits, all_kept in tracked(
            parts, _WORDS, total, lambda part: len(part.rows) * len(part.places)
        ):
            without[rows.unsqueeze(-1), places] = logits.double()
            whole[rows.unsqueeze(-1), places] = all_kept.double()
    words = trace.batch.words.unsqueeze(-1)  # a group's longest document sets its places
    before = trace.logits.double().unsqueeze(1)
    return torch.where(words, whole, before), torch.where(words, without, before)
