"""What information says beside the question whether attention is true."""

from __future__ import annotations

from verax.exams.information.measures import INFORMATION, NAME
from verax.exams.judgement.limits import Limits
from verax.exams.judgement.model_summary import ModelSummary
from verax.exams.judgement.phrases import with_interval
from verax.exams.judgement.row import NOT_APPLICABLE, Judged
from verax.exams.measures import measure_id


def judge(model: ModelSummary, limits: Limits) -> list[Judged]:
    """How much states tell of their words: a condition for reading attention as of words."""
    for row in model.rows(INFORMATION.id):
        number = model.number(INFORMATION.id, row, "retained")
        if number is not None:
            return [
                Judged(
                    NAME,
                    measure_id(INFORMATION.id, row, "retained"),
                    NOT_APPLICABLE,
                    number,
                    "of what a state could tell of its word is kept",
                    "",
                    f"States keep {with_interval(number)} of what they could tell of the word they "
                    "stand for; where little is left, weight on a state is not weight on its word.",
                )
            ]
    return []
