"""Leave-one-out: how much of the decision's probability goes with each word, or each item.

Words are deleted and the text read again, or as little of it as will do: one file for each way.
"""

from __future__ import annotations

import torch
from torch import Tensor

from verax.corpora.batching import MAX_TOKENS
from verax.errors import VeraxError, nearest
from verax.importance.decision import lost
from verax.importance.deletion import local, recurrent, rereading, sentences
from verax.importance.deletion.items import logits_without_items
from verax.importance.given import Given, check_level, held, once, traced
from verax.models.classifier import AttentionClassifier
from verax.models.hierarchical import HierarchicalClassifier
from verax.models.trace import Trace

WEIGHTS = ("projected", "renormalised")

__all__ = ["leave_one_out", "logits_without_items", "logits_without_words"]


def leave_one_out(
    model: AttentionClassifier,
    given: Given,
    on: str = "inputs",
    *,
    weights: str = "projected",
    signed: bool = False,
    max_tokens: int = MAX_TOKENS,
) -> Tensor:
    """|p_y − p_y without i|, (batch, tokens) or (batch, items) in float64 (Meister et al., eq. 6).

    On inputs the word is deleted and the model rerun on what is left; SOS and EOS stay. On items
    the item is masked and the projection taken again ("projected"), or its weight is zeroed and the
    others' scaled up ("renormalised"): the same for softmax, not for sparse projections. An item
    without weight changes nothing either way. When the last one goes, the bias decides.

    signed      positive where the word speaks for the decision
    max_tokens  bounds what is held at once
    """
    check_level(on)
    if weights not in WEIGHTS:
        raise VeraxError(f"weights is {weights!r}: {nearest(weights, WEIGHTS)}")
    trace = traced(model, given)
    key = ("leave_one_out", model, on, weights if on == "items" else "")
    found = once(trace, key, lambda: _lost(model, trace, on, weights, max_tokens))
    return found if signed else found.abs()


@torch.no_grad()
def _lost(
    model: AttentionClassifier, trace: Trace, on: str, weights: str, max_tokens: int
) -> Tensor:
    if on == "inputs":
        without = logits_without_words(model, trace, max_tokens)
        return lost(trace.logits, without).masked_fill(~trace.batch.words, 0.0)
    with held(model):
        whole, without = logits_without_items(model, trace, weights, max_tokens)
    return lost(whole, without).masked_fill(~trace.mask | (trace.weights == 0), 0.0)


@torch.no_grad()
def logits_without_words(
    model: AttentionClassifier, trace: Trace, max_tokens: int = MAX_TOKENS
) -> Tensor:
    """(batch, tokens, classes): the logits once each word is deleted; as they were for no word."""
    found = trace.logits.unsqueeze(1).repeat(1, trace.tokens.shape[1], 1)
    with held(model):
        if isinstance(model, HierarchicalClassifier):
            for tokens, logits in sentences.logits_without_words(model, trace, max_tokens):
                found.view(-1, found.shape[-1])[tokens] = logits
            return found
        for way in (local, recurrent):
            if way.fits(model):
                parts = way.logits_without_words(model, trace, max_tokens)
                break
        else:
            parts = rereading.logits_without_words(model, trace, max_tokens)
        for rows, places, logits in parts:
            found[rows.unsqueeze(-1), places] = logits
    return found
