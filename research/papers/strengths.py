"""Strengths of grounding that a rule chose, in place of the rule's name in a study.

studies.yaml has under `strengths`: rule → corpus → attention → grounding → strength. A model then
says `strength: RULE`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from verax import VeraxError

Strengths = Mapping[str, Mapping[str, Mapping[str, Mapping[str, float]]]]
"""Rule → corpus → attention → grounding → strength."""
CHOSEN_WITH = "additive"
"""The attention whose strengths serve those for which none were chosen."""


def with_strengths(study: Mapping[str, Any], strengths: Strengths) -> dict[str, Any]:
    """The study with each name of a rule replaced by the strength that the rule chose.

    Args:
        study: a part of studies.yaml; one with names of rules has one corpus, and each of its
            models one attention, or a list of them, which is divided.
        strengths: what each rule chose.

    >>> chosen = {"best": {"sst": {"additive": {"tying": 0.1}, "dot": {"tying": 0.3}}}}
    >>> model = {"attention": ["additive", "dot"], "grounding": [{"tying": {"strength": "best"}}]}
    >>> for one in with_strengths({"corpora": ["sst"], "models": [model]}, chosen)["models"]:
    ...     print(one)
    {'attention': 'additive', 'grounding': [{'tying': {'strength': 0.1}}]}
    {'attention': 'dot', 'grounding': [{'tying': {'strength': 0.3}}]}
    """
    models = study["models"] if isinstance(study["models"], list) else [study["models"]]
    if not any(_rules(model, strengths) for model in models):
        return dict(study)
    if len(study["corpora"]) != 1:
        named = list(study["corpora"])
        raise VeraxError(
            f"strengths are chosen for a corpus each: make {named} a part each",
            code="option.conflict",
        )
    (corpus,) = study["corpora"]
    resolved: list[Mapping[str, Any]] = []
    for model in models:
        if not _rules(model, strengths):
            resolved.append(model)
            continue
        several = model["attention"] if isinstance(model["attention"], list) else None
        for attention in several or [model["attention"]]:
            resolved.append(_resolved({**model, "attention": attention}, corpus, strengths))
    return {**study, "models": resolved}


def _rules(model: Mapping[str, Any], strengths: Strengths) -> list[str]:
    """Names of rules that a model says in place of a strength."""
    items = [item for item in _groundings(model) if isinstance(item, Mapping)]
    values = [options.get("strength") for item in items for options in item.values()]
    return [value for value in values if isinstance(value, str) and value in strengths]


def _groundings(model: Mapping[str, Any]) -> list[Any]:
    section = model.get("grounding")
    return section if isinstance(section, list) else []


def _resolved(model: Mapping[str, Any], corpus: str, strengths: Strengths) -> dict[str, Any]:
    """A model of one attention, with numbers in place of rules."""

    def chosen(grounding: str, options: Mapping[str, Any]) -> dict[str, Any]:
        rule, attention = options.get("strength"), model["attention"]
        if not isinstance(rule, str) or rule not in strengths:
            return dict(options)
        by_attention = strengths[rule].get(corpus, {})
        numbers = by_attention.get(attention) or by_attention.get(CHOSEN_WITH, {})
        if grounding not in numbers:
            raise VeraxError(
                f"no strength of {grounding} by the rule {rule!r} for {corpus} with {attention} "
                "attention: add it to `strengths`",
                code="option.conflict",
            )
        return {**options, "strength": numbers[grounding]}

    groundings = [
        {name: chosen(name, options) for name, options in item.items()}
        if isinstance(item, Mapping)
        else item
        for item in _groundings(model)
    ]
    return {**model, "grounding": groundings}
