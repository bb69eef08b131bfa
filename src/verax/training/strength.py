"""Choosing how strongly to ground: the most fragile model that decides as well, on validation.

The loss of tying has a weight δ, that of a masked LM a weight η. More of it makes attention matter
more and, past some point, decisions worse. Of the candidates within a point of the ungrounded
model's F1 the one is chosen whose F1 falls most when its attention is made uniform or permuted
(the mean of both falls); the weaker one in a tie. Test documents are not used, and
are not scored before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from verax.corpora.corpus import Documents
from verax.corpora.encoded import EncodedDocuments
from verax.errors import VeraxError
from verax.models.classifier import AttentionClassifier
from verax.models.counterfactual import logits_under, permuted, uniform
from verax.models.layers import decisions
from verax.models.options import AUTO
from verax.options import check, parse
from verax.statistics import average, f1

STRENGTHS = {
    "tying": (0.01, 0.03, 0.1, 0.3, 1.0, 10.0, 30.0),
    "mlm": (0.1, 0.3, 1.0, 3.0, 5.0),
}
"""Tutek & Šnajder's candidates, of tying 1, 10, 20 and 30, and weaker ones for it.

On SST theirs cost five points of F1 and more, and differ little among each other. A mean over the
dimensions of a vector instead of their sum would make theirs a hundredth or less, which keeps F1.
"""

TOLERANCE = 0.01
PERMUTATIONS = 10
_TIE = 1e-12

Score = Mapping[str, float]
Fit = Callable[[str, float | None], AttentionClassifier]
"""Grounding and strength → a trained model."""


def candidates(grounding: str, text: str | None) -> list[float]:
    """The strengths to try, rising: those of a text such as `1,10,20`, or the paper's."""
    if grounding not in STRENGTHS:
        raise VeraxError(
            f"strength {AUTO!r} is for grounding {' and '.join(STRENGTHS)}, not {grounding!r}",
            options=["strength", "grounding"],
            code="option.conflict",
        )
    if text is None:
        return list(STRENGTHS[grounding])
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not parts:
        message = "strengths is empty: give numbers with commas between them, as in 1,10"
        raise VeraxError(message, options=["strengths"], code="option.empty")
    values = [parse("strengths", part, float) for part in parts]
    return sorted({check("strengths", value, float, {"above": 0}) for value in values})


@torch.no_grad()
def score(
    model: AttentionClassifier, documents: EncodedDocuments, seed: int, max_tokens: int
) -> Score:
    """F1 with trained, uniform and permuted attention, and how far it falls.

    accuracy               with trained attention
    f1, uniform, permuted  of the positive class, or macro with more than two; permuted is the mean
                           over ten seeded orders
    replacement              f1 less the mean of the other two
    """
    decided: dict[str, list[np.ndarray]] = {"f1": [], "uniform": [], "permuted": []}
    labels = []
    for trace in model.traces(documents, max_tokens):
        assert trace.labels is not None
        keys = trace.batch.row_index
        kinds = {
            "f1": trace.weights.unsqueeze(0),
            "uniform": uniform(trace.mask).unsqueeze(0),
            "permuted": permuted(trace.weights, trace.mask, keys, seed, PERMUTATIONS),
        }
        for name, weights in kinds.items():
            decided[name].append(decisions(logits_under(trace, weights)).cpu().numpy())
        labels.append(trace.labels.cpu().numpy())
    true, classes = np.concatenate(labels), len(model.classes)
    scores = {
        name: average([f1(true, row, classes) for row in np.concatenate(rows, axis=1)]).value
        for name, rows in decided.items()
    }
    scores["accuracy"] = float((np.concatenate(decided["f1"], axis=1)[0] == true).mean())
    scores["replacement"] = scores["f1"] - (scores["uniform"] + scores["permuted"]) / 2
    return scores


def select(base: Score, scores: Sequence[Mapping[str, float]]) -> tuple[int, bool]:
    """Which candidate, and whether it is within tolerance of the ungrounded F1.

    Where none is, the one with the best F1. Candidates rise in strength, so that of equals, but
    for rounding, the first, the weakest, is taken.
    """
    within = [number for number, s in enumerate(scores) if s["f1"] >= base["f1"] - TOLERANCE - _TIE]
    if within:
        return _first_best([(scores[number]["replacement"], number) for number in within]), True
    return _first_best([(s["f1"], number) for number, s in enumerate(scores)]), False


def _first_best(values: Sequence[tuple[float, int]]) -> int:
    best = max(value for value, _ in values)
    return next(number for value, number in values if value >= best - _TIE)


def doubts(base: Score, chosen: Score, within: bool) -> list[str]:
    """What speaks against the choice, in words: F1 and replacement do not say all."""
    reasons = []
    if not within:
        reasons.append(f"no candidate is within {100 * TOLERANCE:g} point of the ungrounded F1")
    if chosen["accuracy"] < base["accuracy"] - TOLERANCE - _TIE:
        lost = 100 * (base["accuracy"] - chosen["accuracy"])
        reasons.append(f"its accuracy is {lost:.1f} points below the ungrounded one")
    if chosen["replacement"] <= max(0.0, base["replacement"]) + _TIE:
        reasons.append("it is no more fragile than the ungrounded one")
    return reasons


def choose(
    fit: Fit,
    validation: Documents,
    grounding: str,
    strengths: Sequence[float],
    seed: int,
    max_tokens: int,
    done: Callable[[Mapping[str, Any]], None],
) -> tuple[AttentionClassifier, dict[str, Any]]:
    """Fit the ungrounded model and each candidate; returns the chosen one and all scores."""
    models: list[AttentionClassifier] = []
    rows: list[dict[str, Any]] = []
    for kind, strength in [("none", None), *((grounding, strength) for strength in strengths)]:
        model = fit(kind, strength)
        scores = score(model, model.encode(validation), seed, max_tokens)
        f1_kind = "f1" if len(model.classes) == 2 else "macro_f1"
        row = {"grounding": kind, "strength": strength, "score": f1_kind, **scores}
        models.append(model)
        rows.append(row)
        done(row)
    chosen, within = select(rows[0], rows[1:])
    record = {
        "chosen": strengths[chosen],
        "within": within,
        "doubts": doubts(rows[0], rows[1 + chosen], within),
        "tolerance": TOLERANCE,
        "score": rows[0]["score"],
        "candidates": rows,
    }
    return models[1 + chosen], record
