"""Importance by gradient for Transformers: how the decision moves with the vector of each piece."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from verax.corpora.batching import MAX_TOKENS
from verax.device import full_precision
from verax.external.pieces import PieceBatch
from verax.importance.decision import Target, class_numbers, lead
from verax.importance.registry import register_importance
from verax.importance.tracing import once
from verax.importance.transformers.budget import parts_of
from verax.models.kinds import TRANSFORMER
from verax.models.transformers.classifier import TransformerClassifier, TransformerTrace


class PieceGradients(NamedTuple):
    """The gradient g of how far y is ahead, by the vector x of each piece; float64.

    norm     (batch, pieces): ‖g‖₂
    product  (batch, pieces): g · x
    slope    (batch,): what p_y gains by being ahead
    """

    norm: Tensor
    product: Tensor
    slope: Tensor


@register_importance(
    "gradient",
    "‖∂p/∂x‖ of the word's vectors",
    levels=("inputs",),
    takes=("max_tokens", "target"),
    kinds=(TRANSFORMER,),
)
def gradient(
    model: TransformerClassifier,
    trace: TransformerTrace,
    *,
    max_tokens: int = MAX_TOKENS,
    target: Target | None = None,
) -> Tensor:
    """‖∂p_y/∂x_i‖₂, (batch, words) in float64; of a word's pieces the largest.

    x is what the model looks up for a piece, before position vectors are added; a decoder after an
    encoder reads it, too. y is the class
    decided for, or `target`. max_tokens bounds the padded tokens held at once.
    """
    norm, _, slope = _gradients(model, trace, max_tokens, target)
    scores = trace.pieces.max_by_word(norm, trace.mask.shape[1])
    return scores * slope.unsqueeze(-1)


@register_importance(
    "gradient-input",
    "∂p/∂x · x; above 0 it supports the class",
    levels=("inputs",),
    takes=("signed", "max_tokens", "target"),
    kinds=(TRANSFORMER,),
)
def gradient_input(
    model: TransformerClassifier,
    trace: TransformerTrace,
    *,
    signed: bool = False,
    max_tokens: int = MAX_TOKENS,
    target: Target | None = None,
) -> Tensor:
    """∂p_y/∂x_i · x_i summed over a word's pieces, (batch, words) in float64.

    The sign is kept where `signed`; above 0 the word supports y.
    """
    _, product, slope = _gradients(model, trace, max_tokens, target)
    scores = trace.pieces.sum_by_word(product, trace.mask.shape[1])
    scores = scores * slope.unsqueeze(-1)
    return scores if signed else scores.abs()


def _gradients(
    model: TransformerClassifier, trace: TransformerTrace, max_tokens: int, target: Target | None
) -> PieceGradients:
    y = class_numbers(model.classes, target, trace.logits)
    key = ("gradients", model, None if y is None else tuple(y.tolist()))

    def work() -> PieceGradients:
        parts = [
            _back(model, pieces, None if y is None else y[some])
            for some, pieces in parts_of(model, trace.pieces, max_tokens, model.layers)
        ]
        return PieceGradients(*map(torch.cat, zip(*parts, strict=True)))

    return once(trace, key, work)


def _back(
    model: TransformerClassifier, pieces: PieceBatch, target: Tensor | None
) -> PieceGradients:
    with full_precision(), torch.enable_grad():
        vectors = model.embed(pieces).detach().requires_grad_()
        ahead, slope = lead(model.run(pieces, embedded=vectors).logits, target)
        (back,) = torch.autograd.grad(ahead.sum(), vectors)
    back, values = back.double(), vectors.detach().double()
    return PieceGradients(torch.linalg.vector_norm(back, dim=-1), (back * values).sum(-1), slope)
