"""What another attention with the same prediction says of the model's own."""

from __future__ import annotations

import math

from verax.exams.adversary.measures import (
    ADVERSARY,
    ALL,
    CONFIDENCE,
    DOCUMENT_COUNTS,
    GROUPS,
    NAME,
    epsilon_row,
)
from verax.exams.exam import Pair, no_direction
from verax.exams.judgement.candidate import CandidateMeasure
from verax.exams.judgement.limits import Limits
from verax.exams.judgement.model_summary import ModelSummary
from verax.exams.judgement.number import Number
from verax.exams.judgement.phrasing import listed, of_all, with_interval
from verax.exams.judgement.row import FOR, OPEN, Judged, lean
from verax.exams.measures import (
    JSD,
    PERCENT_RANGE,
    UNIT_INTERVAL,
    VALUE,
    Classes,
    MeasurePlace,
)
from verax.exams.single_token.measures import ALL as ALL_DECISIONS
from verax.exams.single_token.measures import SINGLE_TOKEN
from verax.exams.titles import row_title
from verax.models.kinds import TRANSFORMER

CLOSE = tuple(epsilon_row(epsilon) for epsilon in (0.05, 0.01, 0.1))
"""Changes of the output that leave it as it was, the first that was asked for."""
LIMIT_RANGES = {
    "for_above": JSD,
    "against_below": JSD,
    "decisions_kept_above": PERCENT_RANGE,
    "sure_above_chance_plus": UNIT_INTERVAL,
}
"""Limit → the least and the most it can be."""


def judge(model: ModelSummary, limits: Limits) -> list[Judged]:
    """Judge by what keeping the prediction costs another attention."""
    found = _closest(model)
    if found is None:
        return []
    row, jsd, cost = found
    above, below = limits["for_above"], limits["against_below"]
    least, sure = limits["decisions_kept_above"], limits["sure_above_chance_plus"]
    enough = f"{model.chance + sure:.3g}" if not math.isnan(model.chance) else f"chance + {sure:g}"
    kept = model.number(ADVERSARY.id, row, "decisions_kept")
    confidence = _confidence(model)
    verdict, reason = lean(cost, above=above, below=below), ""
    if kept is None or not kept.is_above(least):
        verdict, reason = OPEN, f"not surely more than {least:g}% of the decisions are kept"
    elif confidence is None or math.isnan(model.chance):
        verdict, reason = OPEN, "how confident the model is, is not known"
    elif not confidence.is_above(model.chance + sure):
        verdict, reason = OPEN, f"the model is not surely more confident than {enough}"
    elif verdict == FOR and model.manifest.get("kind") == TRANSFORMER:
        verdict, reason = OPEN, "searched for: a farther attention may exist"
    within = row_title(ADVERSARY.id, row)
    why = f"; not judged, as {reason}" if reason else ""
    others = {"still apart by (JSD)": jsd, "decisions kept": kept, "confidence": confidence}
    also = f", with {with_interval(kept)} of the decisions kept" if kept is not None else ""
    return [
        Judged(
            NAME,
            ADVERSARY.id_of(row, "constraint_cost"),
            verdict,
            cost,
            f"divergence that another attention must give up to keep the probability within "
            f"{within} (nats, at most 0.69)",
            listed(others),
            f"Another attention, {with_interval(jsd)} nats away on average (0.693 is the most "
            f"there is), keeps the probability of the decision within {within}{also}; it gives up "
            f"{with_interval(cost)} nats to keep it{why}.",
            of_all(cost, model),
            f"for it above {above:.3g}, against it below {below:.3g}; judged where more than "
            f"{least:g}% of decisions are kept and the model's confidence is above {enough}",
            reason=reason,
        )
    ]


def _closest(model: ModelSummary) -> tuple[str, Number, Number] | None:
    """The first of `CLOSE` that was asked for: its row, divergence and cost."""
    for row in CLOSE:
        jsd = model.number(ADVERSARY.id, row, "jsd")
        cost = model.number(ADVERSARY.id, row, "constraint_cost")
        if jsd is not None and cost is not None:
            return row, jsd, cost
    return None


def cost_of(model: ModelSummary) -> Number | None:
    """What keeping the prediction costs another attention, in nats."""
    found = _closest(model)
    return None if found is None else found[2]


CANDIDATES = (
    CandidateMeasure(
        "cost",
        ADVERSARY.id_of(CLOSE[0], "constraint_cost"),
        "nats that keeping the decision costs",
        cost_of,
    ),
)


def _confidence(model: ModelSummary) -> Number | None:
    """How sure the model is of its decisions, by this exam or else by single_token."""
    confidence = model.number(DOCUMENT_COUNTS.id, CONFIDENCE.id, VALUE)
    if confidence is None:
        return model.number(SINGLE_TOKEN.id, ALL_DECISIONS, "confidence")
    return confidence


PEAKED = "of how peaked attention is, by arithmetic: see constraint cost"


def direction(place: MeasurePlace, pair: Pair) -> tuple[str, str]:
    """Which way a number is better: a divergence says how peaked attention is, so neither way."""
    if place.table is ADVERSARY and place.column == "jsd":
        return no_direction(PEAKED)
    return place.measure.better, ""


def counted_as(place: MeasurePlace) -> str:
    """One id for all ε: they ask one question, and count once."""
    row = ALL if place.table is ADVERSARY else place.row
    return place.table.id_of(row, place.column)


def label(place: MeasurePlace, classes: Classes = ()) -> str:
    """A few words for a number: its ε and what is measured."""
    row = place.table.title_of_row(place.row, classes)
    column = place.table.title_of_column(place.column)
    if not column or (place.table is GROUPS and place.row == ALL):
        return column or row
    return f"{row}: {column}"
