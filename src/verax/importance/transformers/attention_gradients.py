"""Attention of a Transformer times its gradient: weights that matter to the decision."""

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
from verax.importance.transformers.positions import positions_of
from verax.models.kinds import TRANSFORMER
from verax.models.transformers.classifier import TransformerClassifier, TransformerTrace
from verax.models.transformers.hooks import AttentionCall


class AttentionGradients(NamedTuple):
    """What attention times the gradient of how far y is ahead leaves of a batch; float64.

    product  (batch, positions): Σ_h Σ_i (A∘∇A)_hij of the last layer
    chefer   (batch, positions): r·C
    slope    (batch,): what p_y gains by being ahead
    """

    product: Tensor
    chefer: Tensor
    slope: Tensor


@register_importance(
    "attention-gradient",
    "α ∂p/∂α in the last layer; above 0 it supports the class",
    levels=("inputs",),
    takes=("signed", "max_tokens", "target"),
    kinds=(TRANSFORMER,),
)
def attention_gradient(
    model: TransformerClassifier,
    trace: TransformerTrace,
    *,
    signed: bool = False,
    max_tokens: int = MAX_TOKENS,
    target: Target | None = None,
) -> Tensor:
    """Σ_h Σ_i α_hij ∂p_y/∂α_hij of the last layer, summed over a word's pieces, (batch, words).

    The sum goes over heads and over the positions i that ask. Only positions that are read move the
    logits, so that this is the readout's row; under a mean, its share is in the gradient already.
    It is what p_y would lose, to first order, were the word's weights of the last layer zero.

    Args:
        model: a Transformer.
        trace: a pass of it.
        signed: keep the sign; above 0 the word supports y.
        max_tokens: padded tokens held at once.
        target: the class y, or one for each text; the class decided for, unless given.
    """
    product, _, slope = _gradients(model, trace, max_tokens, target)
    scores = positions_of(model, trace.pieces).sum_by_word(product, trace.mask.shape[1])
    scores = scores * slope.unsqueeze(-1)
    return scores if signed else scores.abs()


@register_importance(
    "chefer",
    "attention times its gradient, above 0, followed through all layers (Chefer et al.)",
    levels=("inputs",),
    takes=("max_tokens", "target"),
    kinds=(TRANSFORMER,),
)
def chefer(
    model: TransformerClassifier,
    trace: TransformerTrace,
    *,
    max_tokens: int = MAX_TOKENS,
    target: Target | None = None,
) -> Tensor:
    """r·C, where C ← C + E_h[(A∘∇A)⁺] C layer by layer from C = I, (batch, words).

    ∇A is the gradient of how far y's logit is ahead of all others together (with two classes, of
    their difference), as Chefer et al. 2021 take that of a logit: the gradient of a probability
    would fade with confidence, and with it all of C but I. float64.
    """
    scores = _gradients(model, trace, max_tokens, target).chefer
    return positions_of(model, trace.pieces).sum_by_word(scores, trace.mask.shape[1])


def _gradients(
    model: TransformerClassifier, trace: TransformerTrace, max_tokens: int, target: Target | None
) -> AttentionGradients:
    y = class_numbers(model.classes, target, trace.logits)
    key = ("attention_gradients", model, None if y is None else tuple(y.tolist()))

    def work() -> AttentionGradients:
        parts = [
            _back(model, pieces, None if y is None else y[some])
            for some, pieces in parts_of(model, trace.pieces, max_tokens, 2 * model.layers)
        ]
        return AttentionGradients(*map(torch.cat, zip(*parts, strict=True)))

    return once(trace, key, work)


def _back(
    model: TransformerClassifier, pieces: PieceBatch, target: Tensor | None
) -> AttentionGradients:
    """One pass forward and one back; attention and its gradient are kept for these texts alone."""
    positions = positions_of(model, pieces)
    kept: list[tuple[Tensor, AttentionCall]] = []

    def keep(call: AttentionCall) -> Tensor:
        weights = call.weights
        # the first layer's depend on nothing that asks for a gradient; the others' stay in the
        # graph, so that a gradient goes through all later attention as well
        own = weights.view_as(weights) if weights.requires_grad else weights.detach().clone()
        kept.append((own.requires_grad_(), call))
        return own

    with full_precision(), torch.enable_grad():
        logits = model.run(pieces, keep).logits
        ahead, slope = lead(logits, target)
        backs = torch.autograd.grad(
            ahead.sum(), [weights for weights, _ in kept], allow_unused=True, materialize_grads=True
        )
    through = torch.eye(positions.count, dtype=torch.float64, device=pieces.mask.device)
    through = through.repeat(len(pieces), 1, 1)
    product = torch.zeros_like(through[:, 0])
    with torch.no_grad():
        for (weights, call), back in zip(kept, backs, strict=True):
            both = weights.detach().double() * back.double()
            ask, attended = positions.place(call.queries), positions.place(call.keys)
            mean = both.clamp(min=0).mean(1)
            through[:, ask] += mean @ through[:, attended]
            if call is kept[-1][1]:
                product[:, attended] = both.sum((1, 2))
        read = positions.readout.double().unsqueeze(1)
        return AttentionGradients(product, (read @ through).squeeze(1), slope)
