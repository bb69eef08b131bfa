"""Strengths of grounding that a rule chose, in place of the rule's name in a study.

studies.yaml has under `strengths`: rule → corpus → attention → grounding → strength. A model then
says `strength: RULE`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from verax.errors import VeraxError

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
    corpora = list(study["corpora"])
    if len(corpora) != 1:
        raise VeraxError(f"strengths are chosen for a corpus each: make {corpora} a part each")
    resolved = []
    for model in models:
        several = model["attention"] if isinstance(model["attention"], list) else [None]
        for attention in several if _rules(model, strengths) else [None]:
            own = model if attention is None else {**model, "attention": attention}
            resolved.append(_resolved(own, corpora[0], strengths))
    return {**study, "models": resolved}


def _rules(model: Mapping[str, Any], strengths: Strengths) -> list[str]:
    """Names of rules that a model says in place of a strength."""
    values = [options.get("strength") for _, options in _with_options(model)]
    return [value for value in values if isinstance(value, str) and value in strengths]


def _with_options(model: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """Groundings of a model that bring options, and these."""
    section = model.get("grounding")
    items = section if isinstance(section, list) else [section]
    pairs = [pair for item in items if isinstance(item, Mapping) for pair in item.items()]
    return [(name, options) for name, options in pairs if isinstance(options, Mapping)]


def _resolved(model: Mapping[str, Any], corpus: str, strengths: Strengths) -> dict[str, Any]:
    groundings = []
    for item in model["grounding"] if isinstance(model["grounding"], list) else []:
        if isinstance(item, Mapping):
            item = {
                name: _with_number(name, options, corpus, model["attention"], strengths)
                for name, options in item.items()
            }
        groundings.append(item)
    return {**model, **({"grounding": groundings} if groundings else {})}


def _with_number(
    grounding: str,
    options: Mapping[str, Any],
    corpus: str,
    attention: str,
    strengths: Strengths,
) -> dict[str, Any]:
    rule = options.get("strength")
    if not isinstance(rule, str) or rule not in strengths:
        return dict(options)
    by_attention = strengths[rule].get(corpus, {})
    chosen = by_attention.get(attention) or by_attention.get(CHOSEN_WITH, {})
    if grounding not in chosen:
        raise VeraxError(
            f"no strength of {grounding} by the rule {rule!r} for {corpus} with {attention} "
            "attention: add it to `strengths`"
        )
    return {**options, "strength": chosen[grounding]}
