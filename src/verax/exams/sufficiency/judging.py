"""What words taken out, and words left alone, say of each score that is derived from attention."""

from __future__ import annotations

from verax.exams.exam import Pair, no_direction
from verax.exams.judgement.calibrated import LESSER
from verax.exams.judgement.candidate import CandidateMeasure
from verax.exams.judgement.limits import Limits
from verax.exams.judgement.model_summary import ModelSummary
from verax.exams.judgement.number import Number
from verax.exams.judgement.phrasing import listed, of_all, with_interval
from verax.exams.judgement.row import AGAINST, ATTENTION, FOR, OPEN, Judged, lean
from verax.exams.judgement.subjects import is_derived
from verax.exams.measures import AT_LEAST_ZERO, PERCENT_RANGE, UNIT_INTERVAL, MeasurePlace
from verax.exams.sufficiency.measures import (
    BEST,
    COMPREHENSIVENESS,
    GAIN,
    NAME,
    NORMALISED,
    RANDOM,
    RANKED,
    SUFFICIENCY,
    P,
)

LIMITS = {"for_above": 25.0, "against_below": 10.0, "p_below": 0.05, "least_documents": 20.0}
"""From where on a score is taken to rank words as the decision needs them: set by hand, the same as
those of the exam deletion, where no calibration says it of the attention."""
LIMIT_RANGES = {
    "for_above": PERCENT_RANGE,
    "against_below": PERCENT_RANGE,
    "p_below": UNIT_INTERVAL,
    "least_documents": AT_LEAST_ZERO,
}
"""Limit → the least and the most it can be: not below random order, whose gain is 0."""
UNSURE = "it depends on how sure the model is: compare what is normalised"
"""Why neither way is better of what is not normalised, between models."""
_COMPARED = (COMPREHENSIVENESS, SUFFICIENCY, *NORMALISED.values())


def judge(model: ModelSummary, limits: Limits) -> list[Judged]:
    """Judge each score by the lesser of its two gains over random order.

    Judged are scores derived from attention, and scores of one's own; others are controls.
    """
    own = [str(name) for name in model.manifest.get("importances") or ()]
    rows = [row for row in model.rows(RANKED.id) if is_derived(row) or row in own]
    return [_judge_one(model, limits, row) for row in rows]


def _judge_one(model: ModelSummary, limits: Limits, row: str) -> Judged:
    above, below, surely, least = (
        limits[name] for name in ("for_above", "against_below", "p_below", "least_documents")
    )
    gains = {name: _gain(model, row, name) for name in GAIN}
    verdicts = {name: lean(gain, above=above, below=below) for name, gain in gains.items()}
    p = {name: model.number(RANKED.id, row, column) for name, column in P.items()}
    # the one that speaks against the score, or else the lesser
    order = {AGAINST: 0, OPEN: 1, FOR: 2}
    lesser = min(GAIN, key=lambda name: (order[verdicts[name]], gains[name].value))
    gain, verdict, reason = gains[lesser], verdicts[lesser], ""
    if verdict == FOR and any(one is None or one.value >= surely for one in p.values()):
        verdict, reason = OPEN, f"p is not below {surely:g} among all rankings (Holm)"
    if gain.n < least:
        verdict, reason = OPEN, f"{gain.n:,} documents, {least:g} needed"
    others = {
        f"{name} {words}": model.number(RANKED.id, other, name)
        for name in GAIN
        for words, other in (("of it", row), ("of random order", RANDOM), ("of the best", BEST))
    }
    ways = " and ".join(f"{with_interval(gains[name])} by {name}" for name in GAIN)
    sentence = f"Of the way from random order to the best sets of words found, {row} goes {ways}"
    return Judged(
        NAME,
        RANKED.id_of(row, GAIN[lesser]),
        verdict,
        gain,
        f"of the way from random order to the best sets of words found, by {lesser} of {row}, the "
        "lesser of two",
        listed(others),
        f"{sentence}{f': {reason}' if reason else ''}.",
        of_all(gain, model),
        f"for it where comprehensiveness and sufficiency are above {above:.4g}% with p below "
        f"{surely:g} (Holm over rankings), against it where one is below {below:.4g}%; judged from "
        f"{least:g} documents on",
        subject=row,
        reason=reason,
        below_random=gain.is_below(0),
    )


def gain_of(model: ModelSummary, name: str) -> Number | None:
    """How far attention goes from random order to the best sets found, by one of both measures."""
    return model.number(RANKED.id, ATTENTION, GAIN[name])


def lesser_of(model: ModelSummary) -> Number | None:
    """The lesser of both; None where one is not there."""
    gains = [gain for name in GAIN if (gain := gain_of(model, name)) is not None]
    return min(gains, key=lambda gain: gain.value) if len(gains) == len(GAIN) else None


CANDIDATES = (
    CandidateMeasure(
        "lesser_gain",
        LESSER,
        "of the way from random order to the best sets found, taken out or left alone (%)",
        lesser_of,
    ),
)


def _gain(model: ModelSummary, row: str, name: str) -> Number:
    return model.cell(RANKED.id, row, GAIN[name]) or Number(float("nan"), unit="percent")


def direction(place: MeasurePlace, pair: Pair) -> tuple[str, str]:
    """Which way numbers of scores derived from attention are better; others are controls."""
    if place.table is not RANKED or not is_derived(place.row):
        return no_direction("")
    if place.column in NORMALISED.values():
        return place.measure.better, ""
    return no_direction(UNSURE)


def is_compared(place: MeasurePlace, note: str) -> bool:
    """Whether a comparison shows a number: both measures of scores derived from attention."""
    return place.table is RANKED and is_derived(place.row) and place.column in _COMPARED
