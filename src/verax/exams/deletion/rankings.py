"""Rankings of words: which there are for a kind of model, and the order each gives."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from verax.errors import VeraxError, outside_verax
from verax.exams.erasure.states import ranks_from_below
from verax.exams.reading import ask
from verax.importance import Importance, names_of, score
from verax.importance.gradients import on_vectors
from verax.importance.transformers import DERIVED
from verax.models.kinds import DELETE, POOLED, PREDICT, TRANSFORMER
from verax.models.layers import HashedDropout
from verax.options import ROUNDS, option

RANDOM, GRADIENT = "random", "gradient"
RANKINGS = {
    POOLED: ("attention", GRADIENT, "leave-one-out", RANDOM),
    TRANSFORMER: (
        *DERIVED,
        *(GRADIENT, "gradient-input", "integrated-gradients", "leave-one-out", RANDOM),
    ),
    PREDICT: ("leave-one-out", RANDOM),
}
"""Kind of model → the rankings that words are taken out by, where none are named."""
_PLACE = 1 << 22


@dataclass(frozen=True)
class RankingOptions:
    """Options of exams that rank words: given once, they hold for all of these exams."""

    rankings: str | None = option(
        None, "importances to rank words by [those derived from attention, and controls]"
    )
    random_orders: int = option(
        5, "random orders drawn for each document", minimum=1, maximum=ROUNDS
    )


@dataclass(frozen=True)
class RemovalOptions(RankingOptions):
    """Options of exams that take words out of the text."""

    operator: str = option(
        DELETE,
        "how words are taken out: delete; mask (the mask token, or the unknown word, stands for "
        "them); attention (nothing attends to them); what a model has of these",
    )


def chosen_rankings(names: str | None, model: Any) -> list[str]:
    """The rankings to take, random order last, which is always among them."""
    if names is None:
        return [*available(RANKINGS[model.kind][:-1], model), RANDOM]
    given = [name for name in names.split(",") if name.strip() != RANDOM]
    return [*names_of(given, "inputs", model.kind), RANDOM]


def available(names: Sequence[str], model: Any) -> list[str]:
    """Those of these importances that the model has scores for; a warning of others.

    Not every Transformer shows all that a score is made of, such as its output projections.
    """
    if model.kind != TRANSFORMER:
        return on_vectors(names, model)
    trace, found = model.trace(["a"]), []
    for name in names:
        try:
            score(name, model, trace)
        except VeraxError as error:
            warnings.warn(f"{name} is left out: {error}", UserWarning, outside_verax())
        else:
            found.append(name)
    return found


def scores_of(
    names: list[str],
    importances: Mapping[str, Importance],
    model: Any,
    trace: Any,
    seed: int,
    max_tokens: int,
) -> dict[str, Tensor]:
    """Name → (batch, words) scores, signed where the importance has a sign, random order aside.

    Words that speak for the decision come first: it is these whose loss can change it.
    """
    settings: dict[str, Any] = {"signed": True, "seed": seed, "max_tokens": max_tokens}
    scores = {name: score(name, model, trace, **settings) for name in names if name != RANDOM}
    for name, importance in importances.items():
        given = ask(name, importance, model, trace)
        if given.shape != trace.batch.words.shape or not given.is_floating_point():
            raise VeraxError(
                f"importance {name!r} is {given.dtype} of shape {tuple(given.shape)}, expected "
                f"floating-point numbers of shape {tuple(trace.batch.words.shape)}: a score for "
                "each word",
                code="importance.wrong-scores",
            )
        scores[name] = given.double()
    for name, values in scores.items():
        if not bool(values.masked_fill(~trace.batch.words, 0.0).isfinite().all()):
            raise VeraxError(
                f"importance {name!r} is NaN or infinite at a word: it ranks nothing",
                code="importance.wrong-scores",
            )
    return scores


def orders_of(scores: Mapping[str, Tensor], trace: Any, seed: int, draws: int) -> Tensor:
    """(rankings, batch, words) positions, most important first: those of scores, then random ones.

    Of equal scores the earlier word comes first. A document's random orders depend on the seed and
    its row alone.
    """
    words = trace.batch.words
    noise = HashedDropout.of(trace.batch.row_index, words.shape[1], seed, 0)
    chance = noise.uniforms(range(_PLACE, _PLACE + draws))
    every = torch.cat([*(one.unsqueeze(0) for one in scores.values()), chance])
    return ranks_from_below(every, words).flip(-1)
