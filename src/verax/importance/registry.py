"""Every importance by name, for options, flags and tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from torch import Tensor

from verax.corpora.batching import MAX_TOKENS
from verax.errors import VeraxError, nearest
from verax.importance.deletion import leave_one_out
from verax.importance.given import LEVELS, Given, check_level, traced
from verax.importance.gradients import gradient, integrated_gradients
from verax.importance.weights import attention, attention_gradient, attention_product, random
from verax.models.classifier import AttentionClassifier
from verax.models.trace import Trace

Importance = Callable[[AttentionClassifier, Trace], Tensor]
"""A function of (model, trace) that gives a score for each item, or each token."""


@dataclass(frozen=True)
class Kind:
    """A built-in importance: where it has scores, and what its function can be told."""

    function: Callable[..., Tensor]
    about: str
    levels: tuple[str, ...] = LEVELS
    takes: tuple[str, ...] = ()


IMPORTANCES: dict[str, Kind] = {
    "attention": Kind(attention, "the attention weight α"),
    "gradient": Kind(gradient, "‖∂p/∂x‖, through the weights as well"),
    "gradient-detached": Kind(
        partial(gradient, through="values"), "‖∂p/∂x‖ with attention held constant"
    ),
    "gradient-input": Kind(
        partial(gradient, score="product"),
        "|∂p/∂x · x|, through the weights as well",
        LEVELS,
        ("signed",),
    ),
    "gradient-input-detached": Kind(
        partial(gradient, score="product", through="values"),
        "|∂p/∂x · x| with attention held constant (Jain & Wallace)",
        LEVELS,
        ("signed",),
    ),
    "integrated-gradients": Kind(
        integrated_gradients,
        "gradient × input along the way from nothing",
        LEVELS,
        ("signed", "max_tokens"),
    ),
    "leave-one-out": Kind(leave_one_out, "|p − p without it|", LEVELS, ("signed", "max_tokens")),
    "leave-one-out-renormalised": Kind(
        partial(leave_one_out, on="items", weights="renormalised"),
        "|p − p without it|, the other weights scaled up",
        ("items",),
        ("signed", "max_tokens"),
    ),
    "attention-gradient": Kind(
        attention_gradient, "∂p/∂α, items held constant (Serrano & Smith)", ("items",)
    ),
    "attention-product": Kind(attention_product, "α ∂p/∂α", ("items",)),
    "random": Kind(random, "chance", LEVELS, ("seed",)),
}


def names_of(names: str | list[str] | tuple[str, ...], on: str) -> list[str]:
    """Names as a list or written "a,b", each once; an error for one there is not on this level."""
    check_level(on)
    given = names.split(",") if isinstance(names, str) else list(names)
    chosen = list(dict.fromkeys(n for n in (str(name).strip() for name in given) if n))
    valid = [name for name, kind in IMPORTANCES.items() if on in kind.levels]
    for name in chosen:
        if name not in valid:
            raise VeraxError(f"unknown importance {name!r} on {on}: {nearest(name, valid)}")
    return chosen


def score(
    name: str,
    model: AttentionClassifier,
    given: Given,
    on: str = "inputs",
    *,
    signed: bool = False,
    seed: int = 0,
    max_tokens: int = MAX_TOKENS,
) -> Tensor:
    """The scores of the importance called `name`, (batch, tokens) or (batch, items), in float64.

    `signed`, `seed` and `max_tokens` go to those that have a use for them.
    """
    (name,) = names_of([name], on)
    kind = IMPORTANCES[name]
    told = {"signed": signed, "seed": seed, "max_tokens": max_tokens}
    more: dict[str, Any] = {key: told[key] for key in kind.takes}
    if kind.levels == LEVELS:
        more["on"] = on
    return kind.function(model, traced(model, given), **more).double()
