"""What information says beside the question whether attention is true."""

from __future__ import annotations

import math

from verax.exams.information.measures import INFORMATION, NAME
from verax.exams.judgement.limits import Limits
from verax.exams.judgement.model_summary import ModelSummary
from verax.exams.judgement.number import Number
from verax.exams.judgement.phrasing import with_interval
from verax.exams.judgement.row import NOT_APPLICABLE, Judged
from verax.exams.measures import PERCENT
from verax.models.kinds import TRANSFORMER


def judge(model: ModelSummary, limits: Limits) -> list[Judged]:
    """A row on what states keep of their words: a condition for reading attention as of words."""
    rows = model.rows(INFORMATION.id)
    if not rows:
        return []
    row = next((r for r in rows if model.number(INFORMATION.id, r, "retained")), rows[0])
    number = model.cell(INFORMATION.id, row, "retained") or Number(math.nan, unit=PERCENT)
    whose = "States of the last layer" if model.kind == TRANSFORMER else "States"
    sentence = (
        f"{whose} keep {with_interval(number)} of what they could tell of the word they stand for; "
        "where little is left, weight on a state is not weight on its word."
    )
    unknown = math.isnan(number.value)
    return [
        Judged(
            NAME,
            INFORMATION.id_of(row, "retained"),
            NOT_APPLICABLE,
            number,
            "of what a state could tell of its word is kept",
            "",
            "Too few words occur often enough to tell what states keep of them."
            if unknown
            else sentence,
            reason="too few words to tell" if unknown else "",
        )
    ]
