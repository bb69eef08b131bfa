"""What replacing attention says of it."""

from __future__ import annotations

from verax.exams.judgement.candidate import CandidateMeasure
from verax.exams.judgement.limits import Limits
from verax.exams.judgement.model_summary import ModelSummary
from verax.exams.judgement.number import Number
from verax.exams.judgement.phrasing import beside, listed, of_all, with_interval
from verax.exams.judgement.row import Judged, lean
from verax.exams.measures import PERCENT_RANGE
from verax.exams.replacement.measures import NAME, PERMUTED, REPLACEMENT, UNIFORM
from verax.models.kinds import TRANSFORMER

BY_PERMUTED = "permuted_for_below"
"""A limit that, where there is one, has the exam judge by permuted attention."""
LIMIT_RANGES = dict.fromkeys(
    ("for_below", "against_above", BY_PERMUTED, "permuted_against_above"), PERCENT_RANGE
)
"""Limit → the least and the most it can be."""


def judge(model: ModelSummary, limits: Limits) -> list[Judged]:
    """Judge by how many decisions stay when attention is made uniform, or is permuted."""
    by, other, prefix = UNIFORM, PERMUTED, ""
    if BY_PERMUTED in limits and survival_of(model, PERMUTED) is not None:
        by, other, prefix = PERMUTED, UNIFORM, "permuted_"
    number = survival_of(model, by)
    if number is None:
        return []
    made = {UNIFORM: "made uniform", PERMUTED: "permuted"}
    others = {f"with attention {made[other]}": survival_of(model, other)}
    whose = "the attention of all layers" if model.kind == TRANSFORMER else "attention"
    below, above = limits[f"{prefix}for_below"], limits[f"{prefix}against_above"]
    return [
        Judged(
            NAME,
            REPLACEMENT.id_of(by, "survival"),
            lean(number, above=above, below=below, high_is_good=False),
            number,
            f"decisions that stay the same when {whose} is {made[by]}",
            listed(others),
            f"With {whose} {made[by]} {with_interval(number)} of the decisions stay as they "
            f"were{beside(others)}: the more do, the less they depend on attention.",
            of_all(number, model),
            f"for it below {below:.4g}%, against it above {above:.4g}%",
        )
    ]


def survival_of(model: ModelSummary, attention: str) -> Number | None:
    """Decisions that stay when attention is replaced: by `uniform`, or `permuted`."""
    return model.number(REPLACEMENT.id, attention, "survival")


CANDIDATES = (
    CandidateMeasure(
        "uniform_survival",
        REPLACEMENT.id_of(UNIFORM, "survival"),
        "decisions that stay under uniform attention (%)",
        lambda model: survival_of(model, UNIFORM),
        ("for_below", "against_above"),
    ),
    CandidateMeasure(
        "permuted_survival",
        REPLACEMENT.id_of(PERMUTED, "survival"),
        "decisions that stay under permuted attention (%)",
        lambda model: survival_of(model, PERMUTED),
        (BY_PERMUTED, "permuted_against_above"),
    ),
)
