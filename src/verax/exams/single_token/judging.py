"""What single tokens say of attention."""

from __future__ import annotations

import math
from dataclasses import replace

from verax.exams.judgement.calibrated import SHARE
from verax.exams.judgement.candidate import CandidateMeasure
from verax.exams.judgement.limits import Limits
from verax.exams.judgement.model_summary import ModelSummary
from verax.exams.judgement.number import Number
from verax.exams.judgement.phrasing import beside, listed, numeral, of_all, with_interval
from verax.exams.judgement.row import AGAINST, FOR, NOT_APPLICABLE, OPEN, Judged, lean
from verax.exams.measures import UNIT_INTERVAL, Classes, MeasurePlace
from verax.exams.single_token.measures import ALL, CORRECT, NAME, SINGLE_TOKEN
from verax.models.kinds import TRANSFORMER

_WHOSE = {CORRECT: "correct decisions", ALL: "all decisions"}
BY_SHARE = "share_for_below"
"""A limit that, where there is one, has the exam judge by the share of the way from chance to the
model's confidence that a token goes alone."""
LIMIT_RANGES = {
    **dict.fromkeys(
        ("for_below_chance_plus", "against_within", "sure_above_chance_plus"), UNIT_INTERVAL
    ),
    **dict.fromkeys((BY_SHARE, "share_against_above"), (-math.inf, math.inf)),
}
"""Limit → the least and the most it can be."""


def judge(model: ModelSummary, limits: Limits) -> list[Judged]:
    """Judge by how near one token alone comes to the decision of all."""
    found = _alone(model)
    if found is None:
        return []
    row, number, confidence = found
    others: dict[str, Number | None] = {"all together": confidence}
    chance, item = model.chance, model.item
    unsure, sure = limits["for_below_chance_plus"], limits["sure_above_chance_plus"]
    within = limits["against_within"]
    reason = ""
    if math.isnan(chance):
        verdict, rule, reason = NOT_APPLICABLE, "", "the number of classes is not known"
        compared = f"{listed(others)}; not judged: the number of classes is not known"
    else:
        verdict = OPEN
        if not confidence.is_above(chance + sure):
            reason = f"the model is not surely more confident than {chance + sure:.3g}"
        elif BY_SHARE in limits:
            above, below = limits["share_against_above"], limits[BY_SHARE]
            share = _share(number, confidence, chance)
            verdict = lean(share, above=above, below=below, high_is_good=False)
        elif number.has_interval:
            if number.is_above(confidence.high - within):
                verdict = AGAINST
            elif number.is_below(chance + unsure):
                verdict = FOR
        others["undecided"] = Number(chance)
        compared = listed(others)
        rule = (
            f"for it below {chance + unsure:.3g}, against it less than {within:g} below all "
            f"together; judged where all together give more than {chance + sure:.3g}"
        )
        if BY_SHARE in limits:
            low, high = (
                chance + limits[name] * (confidence.value - chance)
                for name in (BY_SHARE, "share_against_above")
            )
            rule = (
                f"for it below {low:.3g}, against it above {high:.3g}: {limits[BY_SHARE]:.0%} and "
                f"{limits['share_against_above']:.0%} of the way from chance to all together"
            )
    ends = [model.number(SINGLE_TOKEN.id, row, column) for column in ("least", "most")]
    least, most = (numeral(end) if end is not None else "" for end in ends)
    between = f", from {least} by the least to {most} by the most" if least and most else ""
    if model.kind == TRANSFORMER:
        what = f"mean probability of the decision by the state of a single {item}"
        told = f"the state of which {item} is read"
    else:
        what = f"mean probability of the decision with all attention on a single {item}"
        told = f"which {item} attention finds"
    return [
        Judged(
            NAME,
            SINGLE_TOKEN.id_of(row, "mean_probability"),
            verdict,
            number,
            what,
            compared,
            f"One {item} alone gives {_WHOSE[row]} a probability of {with_interval(number)} on "
            f"average{between}{beside(others)}: the nearer that comes to what all give together, "
            f"the less it matters {told}.",
            f"{of_all(number, model)}{', decided right' if row == CORRECT else ''}",
            rule,
            reason=reason,
        )
    ]


def _alone(model: ModelSummary) -> tuple[str, Number, Number] | None:
    """Of correct decisions, or else of all: the row, a token's probability, and confidence."""
    for row in (CORRECT, ALL):
        number = model.number(SINGLE_TOKEN.id, row, "mean_probability")
        confidence = model.number(SINGLE_TOKEN.id, row, "confidence")
        if number is not None and confidence is not None:
            return row, number, confidence
    return None


def share_of(model: ModelSummary) -> Number | None:
    """How far a token goes alone from chance to the model's confidence; None if not known."""
    found = _alone(model)
    if found is None or math.isnan(model.chance):
        return None
    return _share(found[1], found[2], model.chance)


CANDIDATES = (
    CandidateMeasure(
        "share",
        SHARE,
        "of the way from chance to the model's confidence that one word goes alone",
        share_of,
        (BY_SHARE, "share_against_above"),
    ),
)


def _share(number: Number, confidence: Number, chance: float) -> Number:
    """A probability as a share of the way from chance to the confidence, which is taken as known.

    >>> _share(Number(0.7), Number(0.9), 0.5).value
    0.5
    """
    whole = max(confidence.value - chance, 1e-9)
    value, low, high = ((end - chance) / whole for end in (number.value, number.low, number.high))
    return replace(number, value=round(value, 12), low=low, high=high)


def label(place: MeasurePlace, classes: Classes = ()) -> str:
    """A few words for a number, of correct decisions unless they say otherwise."""
    what = place.table.title_of_column(place.column)
    if place.row == CORRECT:
        return what
    return f"{place.table.title_of_row(place.row, classes)}: {what}"
