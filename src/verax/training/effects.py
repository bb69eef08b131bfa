"""Which options have no effect under which others: the one place that says so.

Two models that differ in such an option alone are one model: one cell of a study, one group of a
comparison.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, replace
from typing import Any

from verax.corpora.tokenizer import AS_WRITTEN
from verax.corpora.vectors import TRAINED
from verax.models.encoders import ENCODER_OPTIONS, ENCODERS
from verax.models.options import AUTO, ModelOptions
from verax.models.projection_registry import PROJECTION_OPTIONS
from verax.options import build, divide
from verax.training.options import TrainingOptions
from verax.training.strength import candidates

Active = Callable[[ModelOptions, TrainingOptions], bool]


def _by_encoder(option: str) -> Active:
    return lambda m, t: m.encoder_uses(option)


def _by_projection(option: str) -> Active:
    return lambda m, t: m.projection_uses(option)


ACTIVE_WHEN: dict[str, tuple[str, Active]] = {
    "lowercase": ("tokenizer", lambda m, t: m.tokenizer != AS_WRITTEN),
    "sentence_encoder": ("hierarchical", lambda m, t: m.hierarchical),
    "dropout_sentence": ("hierarchical", lambda m, t: m.hierarchical),
    **{option: ("encoder", _by_encoder(option)) for option in ENCODER_OPTIONS},
    "attention_size": ("attention", lambda m, t: m.attention == "additive"),
    "query_init": ("attention", lambda m, t: m.attention != "additive"),
    **{option: ("projection", _by_projection(option)) for option in PROJECTION_OPTIONS},
    "strength": ("grounding", lambda m, t: m.grounding in ("tying", "mlm")),
    "mask_probability": ("grounding", lambda m, t: m.grounding == "mlm"),
    "dropout_head_on": ("dropout_head", lambda m, t: m.dropout_head > 0),
    "strengths": ("strength", lambda m, t: m.strength == AUTO),
    "vectors_epochs": ("vectors", lambda m, t: t.vectors == TRAINED),
    "plateau_patience": ("plateau_factor", lambda m, t: t.plateau_factor is not None),
}
"""Option → the option that decides whether it has an effect, and whether it has (models resolved).

An option that is not here always has one.
"""


def inactive_options(model: ModelOptions, training: TrainingOptions) -> list[str]:
    """The options without effect on a model of these options, which are resolved."""
    return [name for name, (_, active) in ACTIVE_WHEN.items() if not active(model, training)]


def warnings_about(values: Mapping[str, Any], classes: int) -> list[str]:
    """A sentence for each option set in `values` that has no effect under the others.

    >>> warnings_about({"encoder": "none", "hidden_size": 50}, classes=2)
    ['hidden_size has no effect with encoder=none']
    """
    of_model, of_training = divide(values, ModelOptions, TrainingOptions)
    model = build(ModelOptions, of_model).resolved(classes)
    of_training.pop("strengths", None)  # a list in Python, and decides nothing
    training = build(TrainingOptions, of_training)
    all_options = {**asdict(model), **asdict(training)}
    return [
        no_effect(name, all_options[ACTIVE_WHEN[name][0]])
        for name in inactive_options(model, training)
        if name in values
    ]


def no_effect(name: str, decided: Any) -> str:
    """That an option has no effect where the one that decides has this value."""
    return f"{name} has no effect with {ACTIVE_WHEN[name][0]}={in_words(decided)}"


def in_words(value: Any) -> str:
    """An option's value as a label has it: 0.5, 16, null as none, a mapping by its pairs."""
    if value is None or isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return repr(value).removesuffix(".0")
    if isinstance(value, Mapping):
        return ",".join(f"{name}={part}" for name, part in value.items())
    return str(value)


def settled_options(
    values: Mapping[str, Any], classes: int
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Every option of the model and of its training, so that equal models have equal ones.

    Options without effect are at their defaults, and every automatic choice is made. Given to
    `verax.train`, they give the model that `values` give. `max_tokens` is left out: it changes no
    result.
    """
    of_model, of_training = divide(values, ModelOptions, TrainingOptions)
    model, training = ModelOptions(**of_model), TrainingOptions(**of_training)
    inactive = inactive_options(model.resolved(classes), training)
    model = replace(model, **_defaults(ModelOptions, inactive)).resolved(classes)
    training = replace(training, **_defaults(TrainingOptions, inactive))
    layers = _shared(model.layers_of(name) for name in _encoders_using(model, "layers"))
    dropout = _shared(
        model.dropout_inside(name) for name in _encoders_using(model, "dropout_encoder")
    )
    model = replace(model, layers=layers, dropout_encoder=dropout)
    if model.strength == AUTO:
        tried = candidates(model.grounding, training.strengths)
        training = replace(training, strengths=",".join(in_words(strength) for strength in tried))
    settled_training = asdict(training)
    del settled_training["max_tokens"]
    return asdict(model), settled_training


def _defaults(cls: type, names: Iterable[str]) -> dict[str, Any]:
    defaults = asdict(cls())
    return {name: defaults[name] for name in names if name in defaults}


def _encoders_using(model: ModelOptions, option: str) -> list[str]:
    return [name for name in model.encoders if option in ENCODERS[name].uses]


def _shared(values: Iterable[Any]) -> Any:
    """The one value of all encoders; None where there is none, or each has its own default."""
    distinct = set(values)
    return distinct.pop() if len(distinct) == 1 else None
