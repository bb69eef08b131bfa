"""How the base was made, and the controls that are made like it but for one thing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from verax.errors import VeraxError
from verax.models.classifier import AttentionClassifier
from verax.models.guided import GuidedClassifier
from verax.training.adversary import refuse_uniform
from verax.training.guided import DEFAULTS as UNENCODED
from verax.training.guided import FIXED as SET_BY_GUIDE
from verax.training.preparing import inherit

Recipe = dict[str, Any]

UNIFORM = "uniform"
MLP_UNIFORM, MLP_OWN = "mlp-uniform", "mlp-own"
BY_BASE, BY_ADVERSARY = "mlp-guided-by-base", "mlp-guided-by-adversary"
CONTROL_TITLES = {
    MLP_UNIFORM: "mlp, uniform",
    MLP_OWN: "mlp, own",
    BY_BASE: "mlp, guided by base",
    BY_ADVERSARY: "mlp, guided by adversary",
}


def control_title(name: str) -> str:
    """A control in words."""
    return CONTROL_TITLES.get(name, name)


CONTROLS = (UNIFORM, MLP_UNIFORM, MLP_OWN, BY_BASE, BY_ADVERSARY)
SHARED = ("vectors", "max_tokens")
"""Options that reach every model: where a file is and how much is held, not what is trained."""


def recipe_of(base: AttentionClassifier, changed: Mapping[str, Any]) -> Recipe:
    """The options with which the base was trained, but for those given that all models share."""
    if not base.record.get("training"):
        raise VeraxError(
            "the base does not say how it was trained, so that nothing can be trained like it: "
            "leave out retrain and controls"
        )
    shared = {name: value for name, value in changed.items() if name in SHARED}
    options, settings = inherit(base, shared, {}, ())
    return {**asdict(options), **asdict(settings)}


def control(name: str, recipe: Recipe) -> Recipe:
    """The options of one of `CONTROLS`; a guided one's are those that its guide does not set.

    uniform                   as the base, but attention is uniform, in training too
    mlp-uniform               each word by itself, without context, under uniform attention
    mlp-own                   the same with attention of its own, by the base's projection
    mlp-guided-by-base        the same under the base's weights
    mlp-guided-by-adversary   the same under those of the adversary chosen
    """
    if name == UNIFORM:
        return {**recipe, "projection": "uniform"}
    options = {**recipe, **UNENCODED, "sentence_encoder": "same"}
    if name == MLP_UNIFORM:
        options["projection"] = "uniform"
    if name in (BY_BASE, BY_ADVERSARY):
        options = {n: v for n, v in options.items() if n not in SET_BY_GUIDE}
    return options


def left_out(base: AttentionClassifier) -> dict[str, str]:
    """Controls that cannot be, and why."""
    return left_out_of(base.options.hierarchical)


def left_out_of(hierarchical: bool) -> dict[str, str]:
    """Controls that cannot be for a base that is hierarchical, or is not, and why."""
    if not hierarchical:
        return {}
    why = "the base attends sentences, and a guide attends words"
    return dict.fromkeys((BY_BASE, BY_ADVERSARY), why)


def refuse_as_base(base: AttentionClassifier) -> None:
    """Raise an error where a model cannot be a base: it needs attention, trained for its labels."""
    if isinstance(base, GuidedClassifier):
        raise VeraxError("a guided model has no attention of its own: give its guide as the base")
    if "adversary" in base.record:
        raise VeraxError("this is an adversary: give the model that it was trained against")
    refuse_uniform(base)
