"""Combinations that cannot be, and which lines of the file make them so."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from verax.corpora.vectors import TRAINED
from verax.errors import VeraxError
from verax.models.options import AUTO, ModelOptions
from verax.options import names
from verax.studies.grid.adversaries import Wanted
from verax.studies.grid.crossing import Combination, values_of
from verax.studies.grid.effects import settled
from verax.studies.grid.problems import Place
from verax.training.adversary import UNIFORM
from verax.training.options import TrainingOptions
from verax.training.strength import candidates

_MODEL = frozenset(names(ModelOptions))
_ROUNDS = 5


@dataclass(frozen=True)
class Facts:
    """What a combination is held against: corpus, widths of vectors files, adversaries."""

    classes: int = 2
    all_validated: bool = True
    widths: Mapping[str, int] = field(default_factory=dict)
    adversaries: Wanted | None = None

    @property
    def plain(self) -> Facts:
        """The same for the simplest corpus there is."""
        return replace(self, classes=2, all_validated=True)


def refusals(values: Mapping[str, Any], facts: Facts) -> list[str]:
    """Why these options do not go together, or not with adversaries; empty where they do."""
    found = _by_itself(values, facts)
    if found or facts.adversaries is None:
        return found
    if values.get("projection") == UNIFORM:
        return [
            f"projection {UNIFORM!r} has no adversaries, for its attention cannot move: leave one "
            "of them out"
        ]
    if not facts.adversaries.options:
        return []
    model, training = settled(values, facts.classes)
    beside = facts.adversaries.beside({**model, **training})
    return [f"adversaries: {message}" for message in _by_itself(beside, facts)]


def _by_itself(values: Mapping[str, Any], facts: Facts) -> list[str]:
    found = []
    model = ModelOptions(**{n: v for n, v in values.items() if n in _MODEL})
    of_training = {n: v for n, v in values.items() if n not in _MODEL}
    vectors: str | None = of_training.get("vectors")
    try:
        model.resolved(facts.classes)
        if vectors is not None and vectors in facts.widths:
            replace(model, embedding_size=facts.widths[vectors]).resolved(facts.classes)
    except VeraxError as error:
        found.append(str(error))
    try:
        TrainingOptions(**of_training)
    except VeraxError as error:
        found.append(str(error))
    if model.strength == AUTO:
        try:
            candidates(model.grounding, of_training.get("strengths"))
        except VeraxError as error:
            found.append(str(error))
    metric = of_training.get("metric")
    if metric == "f1" and facts.classes != 2:
        found.append(f"metric 'f1' is for two classes, not {facts.classes}: use 'macro_f1'")
    if metric == "roc_auc" and not facts.all_validated:
        found.append("metric 'roc_auc' needs validation documents of every class: use 'macro_f1'")
    if vectors == TRAINED and importlib.util.find_spec("gensim") is None:
        found.append("vectors 'word2vec' needs gensim: pip install 'verax[vectors]'")
    return found


def culprits(combination: Combination, corpus: Place, facts: Facts) -> dict[str, set[Place]]:
    """Each refusal of a combination, and where it comes from.

    A setting is a culprit if the refusal goes away once it is back at its default, and so is the
    corpus if another would do, and what is asked of adversaries if others would. What stands
    behind a refusal is then taken away, to see whether there is another.
    """
    found: dict[str, set[Place]] = {}
    values = values_of(combination)
    for _ in range(_ROUNDS):
        new = [message for message in refusals(values, facts) if message not in found]
        if not new:
            break
        guilty: set[str] = set()
        for message in new:
            alone = {
                name
                for name in values
                if message not in refusals({n: v for n, v in values.items() if n != name}, facts)
            }
            found[message] = {combination[name].place for name in alone}
            if message not in refusals(values, facts.plain):
                found[message].add(corpus)
            found[message] |= _of_adversaries(message, values, facts)
            guilty |= alone
        values = {n: v for n, v in values.items() if n not in guilty}
    return found


def _of_adversaries(message: str, values: Mapping[str, Any], facts: Facts) -> set[Place]:
    """Where that which does not go with a combination's adversaries was asked of them."""
    wanted = facts.adversaries
    if wanted is None or message in refusals(values, replace(facts, adversaries=None)):
        return set()
    guilty = {
        wanted.places[name]
        for name in wanted.options
        if message not in refusals(values, replace(facts, adversaries=wanted.without(name)))
    }
    return guilty or {wanted.place}
