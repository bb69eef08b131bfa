"""Leave-one-out for models that Verax did not train: each word is taken away, and the text read."""

from __future__ import annotations

import torch
from torch import Tensor

from verax.corpora.batching import MAX_TOKENS
from verax.errors import VeraxError
from verax.importance.decision import Target, class_numbers, lost
from verax.importance.registry import register_importance
from verax.importance.tracing import once
from verax.models.base import ExternalClassifier, WordTrace
from verax.models.kinds import DELETE, MASK, PREDICT, TRANSFORMER
from verax.models.layers import decisions
from verax.models.transformers.classifier import TransformerTrace
from verax.progress import tracked

BUDGETS = 16
"""Budgets of tokens whose texts are made at once: read in an order of lengths, they pad less."""


# the last decorator registers first
@register_importance(
    "leave-one-out-mask",
    "p − p with the mask token in its place; above 0 it supports the class",
    levels=("inputs",),
    takes=("signed", "max_tokens", "target"),
    kinds=(TRANSFORMER,),
    operator=MASK,
)
@register_importance(
    "leave-one-out",
    "p − p without it; above 0 it supports the class",
    levels=("inputs",),
    takes=("signed", "max_tokens", "target"),
    kinds=(TRANSFORMER, PREDICT),
)
def leave_one_out(
    model: ExternalClassifier,
    trace: WordTrace,
    *,
    operator: str = DELETE,
    signed: bool = False,
    max_tokens: int = MAX_TOKENS,
    target: Target | None = None,
) -> Tensor:
    """|p_y − p_y without the word|, (batch, words) in float64.

    Args:
        model: any model that Verax did not train.
        trace: a pass of it.
        operator: delete: the word goes out of the text, which is read again; mask: its pieces
            become the mask token; or another of `model.operators`.
        signed: keep the sign; above 0 the word supports y.
        max_tokens: padded tokens held at once.
        target: the class y, or one for each text; the class decided for, unless given.
    """
    if operator == MASK and MASK not in model.operators:
        raise VeraxError(
            "leave-one-out-mask: the tokenizer has no mask token: use leave-one-out, which deletes "
            "words",
            code="importance.not-applicable",
        )
    chosen = class_numbers(model.classes, target, trace.logits)
    y = decisions(trace.logits) if chosen is None else chosen
    without = once(
        trace,
        ("leave_one_out", model, operator),
        lambda: logits_without_each(model, trace, operator, max_tokens),
    )
    scores = lost(y, trace.logits.unsqueeze(1).expand_as(without), without)
    scores = scores.masked_fill(~trace.mask, 0.0)
    return scores if signed else scores.abs()


@torch.no_grad()
def logits_without_each(
    model: ExternalClassifier,
    trace: WordTrace,
    operator: str = DELETE,
    max_tokens: int = MAX_TOKENS,
) -> Tensor:
    """(batch, words, classes): logits once each word is taken away; the text's own at no word."""
    words = trace.mask
    logits = trace.logits.unsqueeze(1).repeat(1, words.shape[1], 1)
    rows, places = words.nonzero(as_tuple=True)
    width = words.shape[1]
    if isinstance(trace, TransformerTrace):
        width = max(width, trace.pieces.input_ids.shape[1])
    many = max(1, BUDGETS * max_tokens // max(1, width))
    parts = list(zip(rows.split(many), places.split(many), strict=True))
    for row, place in tracked(parts, "leaving words out", len(rows), lambda part: len(part[0])):
        removed = torch.zeros(len(row), words.shape[1], dtype=torch.bool, device=words.device)
        removed[torch.arange(len(row), device=words.device), place] = True
        without = model.logits_without(trace, row, removed, operator, max_tokens)
        logits[row, place] = without.to(logits)
    return logits
