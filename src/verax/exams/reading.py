"""What exams read off every trace, and what they may rely on."""

from __future__ import annotations

import re
from collections.abc import Mapping

import torch
from torch import Tensor

from verax.errors import VeraxError
from verax.exams.dispersion.entropy import support_size
from verax.importance import IMPORTANCES, Importance
from verax.models.classifier import AttentionClassifier
from verax.models.head import decisions, two_columns
from verax.models.trace import Trace

_OFF = 1e-3


def labels_of(trace: Trace) -> Tensor:
    """(batch,) float64, NaN where there are none."""
    if trace.labels is None:
        return torch.full((len(trace),), torch.nan, dtype=torch.float64, device=trace.mask.device)
    return trace.labels.double()


def correct(labels: Tensor, decided: Tensor) -> Tensor:
    """(batch,) float64: 1 where the decision is the label, 0 where not, NaN without labels."""
    return (decided == labels).double().masked_fill(labels.isnan(), torch.nan)


def support_measures(trace: Trace) -> dict[str, Tensor]:
    """words, items, support, support_share and correct of each document, (batch,) each."""
    items, support = trace.mask.sum(-1), support_size(trace.weights, trace.mask)
    return {
        "words": trace.batch.words.sum(-1),
        "items": items,
        "support": support,
        "support_share": support.double() / items,
        "correct": correct(labels_of(trace), decisions(trace.logits)),
    }


def check_finite(logits: Tensor) -> None:
    """Refuse a model that does not answer in numbers."""
    if not bool(logits.isfinite().all()):
        raise VeraxError(
            "the model's logits are NaN or infinite: train it again, more gently",
            code="model.not-finite",
        )


def check_affine(logits: Tensor, weighted: Tensor) -> None:
    """Refuse a head that wrongly says it is affine; `weighted` is Σ α_i ℓ_i, (batch, classes)."""
    logits, weighted = two_columns(logits.double()), two_columns(weighted)
    if bool((logits - weighted).abs().amax() > _OFF * (1 + logits.abs().amax())):
        raise VeraxError(
            "the head says it is affine, but the logits are not the weighted mean of what it "
            "makes of single items: set its attribute affine to False",
            code="model.not-affine",
        )


RESERVED = ("product", "optimum")
"""What the erasure exam calls rankings of its own."""


def named(importances: Mapping[str, Importance]) -> dict[str, Importance]:
    """Importances by name, each name fit for a table and not taken."""
    for name, importance in importances.items():
        if name in (*IMPORTANCES, *RESERVED):
            raise VeraxError(
                f"importance {name!r} is built in: give yours another name",
                code="importance.name-taken",
            )
        if not re.fullmatch(r"[\w.+-]+", str(name)):
            raise VeraxError(
                f"importance {name!r}: name it with letters, digits, _ . + or -",
                code="plugin.invalid-name",
            )
        if not callable(importance):
            raise VeraxError(
                f"importance {name!r} is not a function of (model, trace)", code="plugin.invalid"
            )
    return dict(importances)


def ask(name: str, importance: Importance, model: AttentionClassifier, trace: Trace) -> Tensor:
    """What an importance says of a trace, on the trace's device; its shape is yet to be checked."""
    with torch.enable_grad():
        scores: object = importance(model, trace)
    if not isinstance(scores, torch.Tensor):
        kind = type(scores).__name__
        raise VeraxError(
            f"importance {name!r} gave a {kind}, expected a tensor", code="importance.wrong-scores"
        )
    return scores.detach().to(trace.mask.device)


def sum_by_item(scores: Tensor, trace: Trace) -> Tensor:
    """(batch, tokens) scores of words → (batch, items), each item the sum of its words.

    In a flat model an item is a word, and SOS and EOS are none.
    """
    if trace.batch.layout is None:
        return scores
    items = torch.arange(trace.mask.shape[1], device=scores.device)
    belongs = trace.item_of_token.unsqueeze(-1) == items
    # a product adds up in one order; scattering on a GPU does not
    return (scores.unsqueeze(1) @ belongs.to(scores.dtype)).squeeze(1)
