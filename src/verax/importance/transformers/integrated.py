"""Integrated gradients for Transformers, with the error that the sum over steps leaves."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from verax.corpora.batching import MAX_TOKENS
from verax.device import full_precision
from verax.errors import VeraxError, nearest
from verax.importance.decision import Target, class_numbers, lead
from verax.importance.registry import register_importance
from verax.importance.tracing import once
from verax.importance.transformers.budget import rows_at_once
from verax.models.kinds import TRANSFORMER
from verax.models.layers import decisions, probabilities, two_columns
from verax.models.transformers.classifier import TransformerClassifier, TransformerTrace
from verax.progress import tracked

BASELINES = ("mask", "pad", "zero")
STEPS = 50


@register_importance(
    "integrated-gradients",
    "gradient × input along the way from nothing; above 0 it supports the class",
    levels=("inputs",),
    takes=("signed", "max_tokens", "target"),
    kinds=(TRANSFORMER,),
)
def integrated_gradients(
    model: TransformerClassifier,
    trace: TransformerTrace,
    *,
    steps: int = STEPS,
    baseline: str | None = None,
    signed: bool = False,
    max_tokens: int = MAX_TOKENS,
    target: Target | None = None,
) -> Tensor:
    """∫ ∂p_y/∂x_i · (x_i − x⁰_i) from x⁰ to x, summed over a word's pieces, (batch, words).

    x⁰ has the baseline in place of every piece of a word; special tokens stay, so that the signed
    scores of words sum to p_y(x) − p_y(x⁰) up to `convergence_delta` (Sundararajan et al. 2017).
    Gauss–Legendre quadrature; float64.

    Args:
        model: a Transformer.
        trace: a pass of it.
        steps: points of the quadrature.
        baseline: what stands for no word: the vector of the mask token, that of the pad token, or
            zero; mask where the tokenizer has that, else zero, unless given.
        signed: keep the sign; above 0 the word supports y.
        max_tokens: padded tokens held at once.
        target: the class y, or one for each text; the class decided for, unless given.
    """
    scores, _ = _integrated(model, trace, steps, baseline, max_tokens, target)
    scores = trace.pieces.sum_by_word(scores, trace.mask.shape[1])
    return scores if signed else scores.abs()


def convergence_delta(
    model: TransformerClassifier,
    trace: TransformerTrace,
    *,
    steps: int = STEPS,
    baseline: str | None = None,
    max_tokens: int = MAX_TOKENS,
    target: Target | None = None,
) -> Tensor:
    """By how much integrated gradients miss p_y(x) − p_y(x⁰), the sum they should have, (batch,).

    Arguments are those of `integrated_gradients`; where that was asked for already, nothing is
    computed again.
    """
    return _integrated(model, trace, steps, baseline, max_tokens, target)[1]


def _integrated(
    model: TransformerClassifier,
    trace: TransformerTrace,
    steps: int,
    baseline: str | None,
    max_tokens: int,
    target: Target | None,
) -> tuple[Tensor, Tensor]:
    """Scores of pieces, and the convergence delta."""
    chosen = class_numbers(model.classes, target, trace.logits)
    y = decisions(trace.logits) if chosen is None else chosen
    nothing = _nothing(model, baseline)
    key = ("integrated", model, steps, baseline, tuple(y.tolist()))
    return once(trace, key, lambda: _integrate(model, trace, nothing, steps, max_tokens, y))


def _nothing(model: TransformerClassifier, baseline: str | None) -> int | None:
    """The piece whose vector stands for no word; None for a vector of zeros."""
    tokenizer = model.reader.tokenizer
    mask = getattr(tokenizer, "mask_token_id", None)
    if baseline not in (None, *BASELINES):
        raise VeraxError(
            f"baseline {baseline!r}: {nearest(str(baseline), BASELINES)}",
            code="option.unknown-value",
        )
    if baseline == "mask" and mask is None:
        raise VeraxError(
            "baseline 'mask': the tokenizer has no mask token: use pad or zero",
            code="importance.not-applicable",
        )
    if baseline == "pad":
        return model.pad
    return None if baseline == "zero" else mask


def _integrate(
    model: TransformerClassifier,
    trace: TransformerTrace,
    nothing: int | None,
    steps: int,
    max_tokens: int,
    y: Tensor,
) -> tuple[Tensor, Tensor]:
    pieces = trace.pieces
    of_words = pieces.word >= 0
    with torch.no_grad(), full_precision():
        end = model.embed(pieces)
        start = torch.where(of_words.unsqueeze(-1), _vector(model, end, nothing), end)
        before = model.run(pieces, embedded=start).logits
    places, shares = (torch.from_numpy(one) for one in np.polynomial.legendre.leggauss(steps))
    places, shares = ((places + 1) / 2).to(end), (shares / 2).to(end.device)
    total = torch.zeros_like(end, dtype=torch.float64)
    # one pair of a text and a step after the other, as many at once as may be
    rows = torch.arange(len(pieces), device=end.device).repeat_interleave(steps)
    step = torch.arange(steps, device=end.device).repeat(len(pieces))
    many = rows_at_once(model, pieces, max_tokens, model.layers)
    parts = list(zip(rows.split(many), step.split(many), strict=True))
    for row, number in tracked(parts, "integrating", len(rows), lambda part: len(part[0])):
        batch = pieces.take(row)
        with full_precision(), torch.enable_grad():
            way = torch.lerp(start[row], end[row], places[number].view(-1, 1, 1))
            way.requires_grad_()
            ahead, slope = lead(model.run(batch, embedded=way).logits, y[row])
            (back,) = torch.autograd.grad(ahead.sum(), way)
        parts_of_sum = back.double() * (slope * shares[number]).view(-1, 1, 1)
        # a product adds up in one order; adding by index on a GPU does not
        belongs = torch.nn.functional.one_hot(row, len(pieces)).double()
        total += torch.einsum("mb,mpd->bpd", belongs, parts_of_sum)
    scores = (total * (end - start).double()).sum(-1).masked_fill(~of_words, 0.0)
    gained = _probability(trace.logits, y) - _probability(before, y)
    return scores, scores.sum(-1) - gained


def _vector(model: TransformerClassifier, like: Tensor, piece: int | None) -> Tensor:
    if piece is None:
        return torch.zeros_like(like[:1, :1])
    table = model.module.get_input_embeddings()
    return table(torch.tensor([[piece]], device=like.device)).to(like)


def _probability(logits: Tensor, y: Tensor) -> Tensor:
    return probabilities(two_columns(logits.double())).gather(-1, y.unsqueeze(-1)).squeeze(-1)
