"""What a model is asked: which exams run on it, what they promise, and which do not apply."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from importlib import import_module

import pandas as pd

from verax.exams.exam import Exam
from verax.exams.registry import EXAMS
from verax.models.base import TextClassifier
from verax.models.kinds import POOLED, PREDICT, TRANSFORMER

NEEDS = {
    POOLED: "one attention over items, whose weighted mean a head reads",
    TRANSFORMER: "attention in layers and heads",
    PREDICT: "probabilities of texts",
}
"""Kind of model → what an exam of it works with."""


@dataclass(frozen=True)
class Planned:
    """Whether an exam applies to a model.

    name     of the exam
    exam     the class that examines models of this kind; None where the exam does not apply
    promise  how its numbers are obtained: exact, bounded, searched or sampled
    reason   why it does not apply; empty where it does
    """

    name: str
    exam: type[Exam] | None
    promise: str = ""
    reason: str = ""


def plan(
    model: TextClassifier, exams: Sequence[str], importances: Collection[str] = ()
) -> list[Planned]:
    """Return, for each exam, whether it applies to a model and how exact its numbers are.

    Args:
        model: the model to examine.
        exams: names of exams.
        importances: names of additional importances, as passed to `examine`.
    """
    return [_planned(model, name, importances) for name in exams]


def without_rationales(planned: Planned) -> Planned:
    """Return the plan of an exam for a corpus without rationales."""
    if planned.exam is None or not planned.exam.needs_rationales:
        return planned
    reason = (
        "it holds rankings against people's marks, and the corpus has none: name their column with "
        "rationale_column (--rationale-column)"
    )
    return Planned(planned.name, None, reason=reason)


def plan_table(planned: Sequence[Planned]) -> pd.DataFrame:
    """A row for each exam: exam, runs (yes or no), promise, and the reason where it does not."""
    rows = [
        {
            "exam": one.name,
            "runs": "no" if one.exam is None else "yes",
            "promise": one.promise,
            "reason": one.reason,
        }
        for one in planned
    ]
    return pd.DataFrame(rows, columns=["exam", "runs", "promise", "reason"])


def plan_lines(planned: Sequence[Planned]) -> list[str]:
    """The plan for a terminal, a line for each exam."""
    width = max(len(one.name) for one in planned)
    return [
        f"{one.name:<{width}}  {one.promise or f'not applicable: {one.reason}'}" for one in planned
    ]


def variant(name: str, kind: str) -> type[Exam] | None:
    """The class that takes an exam for models of a kind; None where there is none."""
    exam = EXAMS[name]
    if kind in exam.variants:
        module, _, cls = exam.variants[kind].partition(":")
        return getattr(import_module(module), cls)
    return exam if kind in exam.kinds else None


def variants_of(name: str) -> list[type[Exam]]:
    """The exam's class and those that take it for models of other kinds, each once."""
    others = [variant(name, kind) for kind in EXAMS[name].variants]
    return list(dict.fromkeys([EXAMS[name], *(cls for cls in others if cls is not None)]))


def why_not_kind(name: str, kind: str) -> str:
    """Why an exam does not apply to models of a kind."""
    wanted = " or ".join(NEEDS[other] for other in (*EXAMS[name].kinds, *EXAMS[name].variants))
    reason = EXAMS[name].reasons.get(kind)
    return reason or f"it needs {wanted}; this model has {NEEDS[kind]}"


def _planned(model: TextClassifier, name: str, importances: Collection[str]) -> Planned:
    cls = variant(name, model.kind)
    if cls is None:
        return Planned(name, None, reason=why_not_kind(name, model.kind))
    reason = cls.why_not(model)
    if cls.needs_own and not importances:
        reason = "it compares importances of one's own, and there are none: give importances"
    if reason:
        return Planned(name, None, reason=reason)
    return Planned(name, cls, promise=cls.promise(model))
