"""Combinations that cannot be, and which lines of the file make them so."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from verax.corpora.corpus import Corpus
from verax.corpora.vectors import TRAINED as WORD2VEC
from verax.errors import VeraxError, is_utf8
from verax.models.options import AUTO, ModelOptions
from verax.options import divide
from verax.studies.grid.adversaries import AdversaryPlan
from verax.studies.grid.cell import Cell
from verax.studies.grid.crossing import Combination, values_of
from verax.studies.grid.located import Location, Problems, large
from verax.training.adversary import UNIFORM
from verax.training.effects import settled_options
from verax.training.options import TrainingOptions
from verax.training.strength import candidates

_ROUNDS = 5


@dataclass(frozen=True)
class Requirements:
    """What a combination of options has to fit: corpus, widths of vectors files, adversaries.

    A corpus that could not be read has two classes.
    """

    widths: Mapping[str, int]
    adversaries: AdversaryPlan | None
    classes: int = 2
    all_validated: bool = True

    def of(self, corpus: Corpus) -> Requirements:
        """The same for a corpus."""
        classes = len(corpus.classes)
        validated = len(np.unique(corpus.validation.labels)) == classes
        return replace(self, classes=classes, all_validated=validated)


class Refusal(NamedTuple):
    """Why options do not go together, and which options these are."""

    message: str
    options: tuple[str, ...]
    code: str


def refusals(values: Mapping[str, Any], requirements: Requirements) -> list[Refusal]:
    """Why these options do not go together, or not with adversaries; empty where they do."""
    of_model = _refusals_of_model(values, requirements)
    plan = requirements.adversaries
    if of_model or plan is None:
        return of_model
    if values.get("projection") == UNIFORM:
        message = (
            f"projection {UNIFORM!r} has no adversaries, for its attention cannot move: leave one "
            "of them out"
        )
        return [Refusal(message, ("projection",), code="option.conflict")]
    if not plan.options:
        return []
    model, training = settled_options(values, requirements.classes)
    beside = plan.options_beside({**model, **training})
    of_adversaries = _refusals_of_model(beside, requirements)
    return [
        Refusal(f"adversaries: {message}", names, code=code)
        for message, names, code in of_adversaries
    ]


def _refusals_of_model(values: Mapping[str, Any], requirements: Requirements) -> list[Refusal]:
    of_model, of_training = divide(values, ModelOptions, TrainingOptions)
    model = ModelOptions(**of_model)
    path, metric = of_training.get("vectors"), of_training.get("metric")
    refused: list[Refusal] = []
    with _noted(refused):
        model.resolved(requirements.classes)
        if path in requirements.widths:
            width = requirements.widths[str(path)]
            replace(model, embedding_size=width).resolved(requirements.classes)
    with _noted(refused):
        TrainingOptions(**of_training)
    if model.strength == AUTO:
        with _noted(refused):
            candidates(model.grounding, of_training.get("strengths"))
    if metric == "f1" and requirements.classes != 2:
        message = f"metric 'f1' is for two classes, not {requirements.classes}: use 'macro_f1'"
        refused.append(Refusal(message, ("metric",), code="option.not-applicable"))
    if metric == "roc_auc" and not requirements.all_validated:
        message = "metric 'roc_auc' needs validation documents of every class: use 'macro_f1'"
        refused.append(Refusal(message, ("metric",), code="option.not-applicable"))
    if path == WORD2VEC and importlib.util.find_spec("gensim") is None:
        message = "vectors 'word2vec' needs gensim: pip install 'verax[vectors]'"
        refused.append(Refusal(message, ("vectors",), code="package.missing"))
    return refused


@contextmanager
def _noted(refused: list[Refusal]) -> Iterator[None]:
    """Adds the error that is raised inside to a list."""
    try:
        yield
    except VeraxError as error:
        refused.append(Refusal(str(error), error.options, code=error.code))


def causes_of(
    combination: Combination, corpus: Location, requirements: Requirements
) -> dict[Refusal, set[Location]]:
    """Each refusal of a combination, and where it comes from.

    A setting is a cause if the refusal goes away once it is back at its default, and so is the
    corpus if another would do, and what is asked of adversaries if others would. The causes of a
    refusal are then taken away, to see whether there is another.
    """
    causes: dict[Refusal, set[Location]] = {}
    values, plan = values_of(combination), requirements.adversaries

    def is_gone(refusal: Refusal, **changed: Any) -> bool:
        return refusal not in refusals(values, replace(requirements, **changed))

    for _ in range(_ROUNDS):
        new = [refusal for refusal in refusals(values, requirements) if refusal not in causes]
        if not new:
            break
        removed: set[str] = set()
        for refusal in new:
            names = {
                name
                for name in values
                if refusal
                not in refusals({n: v for n, v in values.items() if n != name}, requirements)
            }
            causes[refusal] = {combination[name].location for name in names}
            if is_gone(refusal, classes=2, all_validated=True):
                causes[refusal].add(corpus)
            if plan is not None and is_gone(refusal, adversaries=None):
                options = [n for n in plan.options if is_gone(refusal, adversaries=plan.without(n))]
                causes[refusal] |= {plan.locations[n] for n in options} or {plan.location}
            removed |= names
        values = {n: v for n, v in values.items() if n not in removed}
    return causes


def refuse_unstorable(cells: Iterable[Cell], problems: Problems) -> None:
    """Note values that no table of results can hold, before anything is trained."""
    values = {(name, v) for c in cells for name, v in c.columns().items() if type(v) in (int, str)}
    for name, value in sorted(values, key=str):
        if isinstance(value, int) and not -(2**63) <= value < 2**63:
            problems.add(
                f"{name} is {large(value)}: expected a whole number below 2^63",
                code="option.out-of-range",
            )
        if isinstance(value, str) and not is_utf8(value):
            problems.add(
                f"{name} is {value!r}, which is not UTF-8: rename the file or folder",
                code="file.bad-name",
            )
