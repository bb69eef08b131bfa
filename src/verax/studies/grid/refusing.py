"""Combinations that cannot be, and which lines of the file make them so."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from verax.corpora.corpus import Corpus
from verax.corpora.vectors import TRAINED as WORD2VEC
from verax.models.options import AUTO, ModelOptions
from verax.options import divide
from verax.studies.grid.adversaries import AdversaryPlan
from verax.studies.grid.crossing import Combination, values_of
from verax.studies.grid.located import Location, Problems
from verax.training.adversary import UNIFORM
from verax.training.effects import settled_options
from verax.training.options import TrainingOptions
from verax.training.strength import candidates

_ROUNDS = 5


@dataclass(frozen=True)
class Requirements:
    """What a combination of options has to fit: corpus, widths of vectors files, adversaries."""

    classes: int = 2
    all_validated: bool = True
    widths: Mapping[str, int] = field(default_factory=dict)
    adversaries: AdversaryPlan | None = None


def requirements_of(
    corpus: Corpus | None, widths: Mapping[str, int], adversaries: AdversaryPlan | None
) -> Requirements:
    """The requirements of a corpus; one that could not be read has two classes."""
    if corpus is None:
        return Requirements(widths=widths, adversaries=adversaries)
    classes = len(corpus.classes)
    validated = len(np.unique(corpus.validation.labels))
    return Requirements(classes, validated == classes, widths, adversaries)


def refusals(values: Mapping[str, Any], requirements: Requirements) -> list[str]:
    """Why these options do not go together, or not with adversaries; empty where they do."""
    messages = _refusals_of_model(values, requirements)
    plan = requirements.adversaries
    if messages or plan is None:
        return messages
    if values.get("projection") == UNIFORM:
        return [
            f"projection {UNIFORM!r} has no adversaries, for its attention cannot move: leave one "
            "of them out"
        ]
    if not plan.options:
        return []
    model, training = settled_options(values, requirements.classes)
    beside = plan.options_beside({**model, **training})
    return [f"adversaries: {message}" for message in _refusals_of_model(beside, requirements)]


def _refusals_of_model(values: Mapping[str, Any], requirements: Requirements) -> list[str]:
    of_model, of_training = divide(values, ModelOptions, TrainingOptions)
    model = ModelOptions(**of_model)
    path, metric = of_training.get("vectors"), of_training.get("metric")
    messages = Problems()
    with messages.at():
        model.resolved(requirements.classes)
        if path in requirements.widths:
            width = requirements.widths[str(path)]
            replace(model, embedding_size=width).resolved(requirements.classes)
    with messages.at():
        TrainingOptions(**of_training)
    if model.strength == AUTO:
        with messages.at():
            candidates(model.grounding, of_training.get("strengths"))
    if metric == "f1" and requirements.classes != 2:
        messages.add(f"metric 'f1' is for two classes, not {requirements.classes}: use 'macro_f1'")
    if metric == "roc_auc" and not requirements.all_validated:
        messages.add("metric 'roc_auc' needs validation documents of every class: use 'macro_f1'")
    if path == WORD2VEC and importlib.util.find_spec("gensim") is None:
        messages.add("vectors 'word2vec' needs gensim: pip install 'verax[vectors]'")
    return messages.texts()


def causes_of(
    combination: Combination, corpus: Location, requirements: Requirements
) -> dict[str, set[Location]]:
    """Each refusal of a combination, and where it comes from.

    A setting is a cause if the refusal goes away once it is back at its default, and so is the
    corpus if another would do, and what is asked of adversaries if others would. The causes of a
    refusal are then taken away, to see whether there is another.
    """
    causes: dict[str, set[Location]] = {}
    simplest = replace(requirements, classes=2, all_validated=True)
    values = values_of(combination)
    for _ in range(_ROUNDS):
        new = [message for message in refusals(values, requirements) if message not in causes]
        if not new:
            break
        removed: set[str] = set()
        for message in new:
            names = {
                name
                for name in values
                if message
                not in refusals({n: v for n, v in values.items() if n != name}, requirements)
            }
            causes[message] = {combination[name].location for name in names}
            if message not in refusals(values, simplest):
                causes[message].add(corpus)
            causes[message] |= _causes_in_adversaries(message, values, requirements)
            removed |= names
        values = {n: v for n, v in values.items() if n not in removed}
    return causes


def _causes_in_adversaries(
    message: str, values: Mapping[str, Any], requirements: Requirements
) -> set[Location]:
    plan = requirements.adversaries
    if plan is None or message in refusals(values, replace(requirements, adversaries=None)):
        return set()
    causes = {
        plan.locations[name]
        for name in plan.options
        if message not in refusals(values, replace(requirements, adversaries=plan.without(name)))
    }
    return causes or {plan.location}
