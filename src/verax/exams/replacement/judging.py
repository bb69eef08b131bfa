"""What replacing attention says of it."""

from __future__ import annotations

from verax.exams.judgement.limits import Limits
from verax.exams.judgement.model_summary import ModelSummary
from verax.exams.judgement.phrasing import beside, listed, of_all, with_interval
from verax.exams.judgement.row import Judged, lean
from verax.exams.measures import PERCENT_RANGE
from verax.exams.replacement.measures import NAME, PERMUTED, REPLACEMENT, UNIFORM
from verax.models.kinds import TRANSFORMER

LIMIT_RANGES = {"for_below": PERCENT_RANGE, "against_above": PERCENT_RANGE}
"""Limit → the least and the most it can be."""


def judge(model: ModelSummary, limits: Limits) -> list[Judged]:
    """Judge by how many decisions stay when attention is made uniform."""
    number = model.number(REPLACEMENT.id, UNIFORM, "survival")
    if number is None:
        return []
    others = {"with attention permuted": model.number(REPLACEMENT.id, PERMUTED, "survival")}
    whose = "the attention of all layers" if model.kind == TRANSFORMER else "attention"
    below, above = limits["for_below"], limits["against_above"]
    return [
        Judged(
            NAME,
            REPLACEMENT.id_of(UNIFORM, "survival"),
            lean(number, above=above, below=below, high_is_good=False),
            number,
            f"decisions that stay the same when {whose} is made uniform",
            listed(others),
            f"With {whose} made uniform {with_interval(number)} of the decisions stay as they "
            f"were{beside(others)}: the more do, the less they depend on attention.",
            of_all(number, model),
            f"for it below {below:g}%, against it above {above:g}%",
        )
    ]
