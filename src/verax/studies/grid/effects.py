"""What has no effect: options that a model, or its training, never looks at.

Two models that differ in such an option alone are one model, and one cell.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from typing import Any

from verax.corpora.vectors import TRAINED
from verax.models.encoders import ENCODER_OPTIONS, ENCODERS
from verax.models.options import AUTO, ModelOptions
from verax.models.projection_registry import PROJECTION_OPTIONS
from verax.options import names
from verax.training.options import TrainingOptions
from verax.training.strength import candidates

Used = Callable[[ModelOptions, TrainingOptions], bool]


def _of_encoder(option: str) -> Used:
    return lambda m, t: m.encoder_uses(option)


def _of_projection(option: str) -> Used:
    return lambda m, t: m.projection_uses(option)


ACTIVE_WHEN: dict[str, tuple[str, Used]] = {
    "sentence_encoder": ("hierarchical", lambda m, t: m.hierarchical),
    "dropout_sentence": ("hierarchical", lambda m, t: m.hierarchical),
    **{option: ("encoder", _of_encoder(option)) for option in ENCODER_OPTIONS},
    "attention_size": ("attention", lambda m, t: m.attention == "additive"),
    "query_init": ("attention", lambda m, t: m.attention != "additive"),
    **{option: ("projection", _of_projection(option)) for option in PROJECTION_OPTIONS},
    "strength": ("grounding", lambda m, t: m.grounding in ("tying", "mlm")),
    "mask_probability": ("grounding", lambda m, t: m.grounding == "mlm"),
    "dropout_head_on": ("dropout_head", lambda m, t: m.dropout_head > 0),
    "strengths": ("strength", lambda m, t: m.strength == AUTO),
    "vectors_epochs": ("vectors", lambda m, t: t.vectors == TRAINED),
    "plateau_patience": ("plateau_factor", lambda m, t: t.plateau_factor is not None),
}
"""Option → the one that decides whether it is looked at, and whether it is (models resolved)."""


_MODEL = frozenset(names(ModelOptions))


def idle(model: ModelOptions, training: TrainingOptions) -> list[str]:
    """The options without effect; `model` is resolved."""
    return [name for name, (_, used) in ACTIVE_WHEN.items() if not used(model, training)]


def settled(values: Mapping[str, Any], classes: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Every option of the model and of its training, so that equal models have equal ones.

    Options without effect are at their defaults, and every automatic choice is made. Given to
    `verax.train`, they give the model that `values` give.
    """
    model = ModelOptions(**{n: v for n, v in values.items() if n in _MODEL})
    training = TrainingOptions(**{n: v for n, v in values.items() if n not in _MODEL})
    unused = idle(model.resolved(classes), training)
    model = replace(model, **_defaults(ModelOptions, unused)).resolved(classes)
    training = replace(training, **_defaults(TrainingOptions, unused))
    model = replace(model, layers=_layers(model), dropout_encoder=_dropout(model))
    if model.strength == AUTO:
        tried = candidates(model.grounding, training.strengths)
        text = ",".join(repr(strength).removesuffix(".0") for strength in tried)
        training = replace(training, strengths=text)
    of_training = asdict(training)
    del of_training["max_tokens"]
    return asdict(model), of_training


def _defaults(cls: type, unused: list[str]) -> dict[str, Any]:
    default = asdict(cls())
    return {name: default[name] for name in unused if name in default}


def _layers(model: ModelOptions) -> int | None:
    """None where there is nothing to choose, or each encoder has its own default."""
    several = {model.layers_of(name) for name in _using(model, "layers")}
    return several.pop() if len(several) == 1 else None


def _dropout(model: ModelOptions) -> float | None:
    rates = {model.dropout_inside(name) for name in _using(model, "dropout_encoder")}
    return rates.pop() if len(rates) == 1 else None


def _using(model: ModelOptions, option: str) -> list[str]:
    return [name for name in model.encoders if option in ENCODERS[name].uses]
