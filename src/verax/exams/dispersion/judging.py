"""What dispersion says beside the question whether attention is true."""

from __future__ import annotations

from verax.exams.dispersion.measures import ATTENTION, ENTROPY, HEADS, NAME
from verax.exams.judgement.limits import Limits
from verax.exams.judgement.model_summary import ModelSummary
from verax.exams.judgement.phrasing import beside, listed, with_interval
from verax.exams.judgement.row import NOT_APPLICABLE, Judged
from verax.exams.measures import Classes, MeasurePlace
from verax.models.kinds import TRANSFORMER


def judge(model: ModelSummary, limits: Limits) -> list[Judged]:
    """A row on how widely attention is spread, which is neither for it nor against it."""
    number = model.number(ENTROPY.id, ATTENTION, "mean")
    if number is None:
        return []
    whose = "The last layer's attention" if model.kind == TRANSFORMER else "Attention"
    others = {"gradients": model.number(ENTROPY.id, "gradient", "mean")}
    return [
        Judged(
            NAME,
            ENTROPY.id_of(ATTENTION, "mean"),
            NOT_APPLICABLE,
            number,
            "entropy of attention, 1 where it is uniform",
            listed(others),
            f"{whose} has a normalised entropy of {with_interval(number)}, where 1 is uniform"
            f"{beside(others)}; that says how widely it is spread, not whether it is true.",
        )
    ]


def label(place: MeasurePlace, classes: Classes = ()) -> str:
    """A few words for a number: the entropy of what, or what is counted."""
    row = place.table.title_of_row(place.row, classes)
    if place.table is HEADS:
        return f"{row}: {place.table.title_of_column(place.column)}"
    return f"entropy: {row}" if place.table is ENTROPY else row
