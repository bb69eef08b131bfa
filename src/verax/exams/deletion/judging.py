"""What taking words out says of each score that is derived from attention."""

from __future__ import annotations

from verax.exams.deletion.measures import (
    BEST,
    DELETION,
    DOCUMENT_COUNTS,
    EXACT,
    NAME,
    RANDOM,
    SMALLEST,
)
from verax.exams.exam import Pair, no_direction
from verax.exams.judgement.candidate import CandidateMeasure
from verax.exams.judgement.limits import Limits
from verax.exams.judgement.model_summary import ModelSummary
from verax.exams.judgement.number import Number
from verax.exams.judgement.phrasing import listed, of_all, with_interval
from verax.exams.judgement.row import ATTENTION, FOR, OPEN, Judged, lean
from verax.exams.judgement.subjects import is_derived
from verax.exams.measures import AT_LEAST_ZERO, PERCENT_RANGE, UNIT_INTERVAL, VALUE, MeasurePlace

LIMITS = {"for_above": 25.0, "against_below": 10.0, "p_below": 0.05, "least_documents": 20.0}
"""From where on a score is taken to find the words that matter: set by hand, where no calibration
says it of the attention."""
LIMIT_RANGES = {
    "for_above": PERCENT_RANGE,
    "against_below": PERCENT_RANGE,
    "p_below": UNIT_INTERVAL,
    "least_documents": AT_LEAST_ZERO,
}
"""Limit → the least and the most it can be: not below random order, whose gain is 0."""


def judge(model: ModelSummary, limits: Limits) -> list[Judged]:
    """Judge each score by how far it goes from random order to the smallest sets that were found.

    Judged are scores derived from attention, and scores of one's own; others are controls.
    """
    own = [str(name) for name in model.manifest.get("importances") or ()]
    rows = [row for row in model.rows(DELETION.id) if is_derived(row) or row in own]
    return [_judge_one(model, limits, row) for row in rows]


def _judge_one(model: ModelSummary, limits: Limits, row: str) -> Judged:
    above, below, surely, least = (
        limits[name] for name in ("for_above", "against_below", "p_below", "least_documents")
    )
    gain = model.cell(DELETION.id, row, "gain") or Number(float("nan"), unit="percent")
    p = model.number(DELETION.id, row, "p")
    verdict, reason = lean(gain, above=above, below=below), ""
    if verdict == FOR and (p is None or p.value >= surely):
        verdict, reason = OPEN, f"p is not below {surely:g} among all rankings (Holm)"
    if gain.n < least:
        verdict, reason = OPEN, f"{gain.n:,} documents, {least:g} needed"
    share, chance = (model.number(DELETION.id, name, "share") for name in (row, RANDOM))
    others = {
        "share of words": share,
        "in random order": chance,
        "smallest found": model.number(BEST.id, SMALLEST, "upper_share"),
        "smallest sets known exactly": model.number(BEST.id, SMALLEST, "exact"),
        "p (Holm)": p,
    }
    fewer = model.number(DELETION.id, row, "fewer_than_random")
    sentence = f"Of {gain.n:,} documents whose decision changes without part of their words, "
    if share is not None and chance is not None:
        sentence += (
            f"{row} takes out {_percent(share)} of the words before it does, random order "
            f"{_percent(chance)}"
        )
        sentence += f" ({with_interval(fewer)} points less)" if fewer is not None else ""
        sentence += f"; that is {with_interval(gain)} of the way to the smallest sets found"
    else:
        sentence += f"there are none to judge {row} by"
    return Judged(
        NAME,
        DELETION.id_of(row, "gain"),
        verdict,
        gain,
        f"of the way from random order to the smallest sets of words that change decisions, by "
        f"{row}",
        listed(others),
        f"{sentence}{f': {reason}' if reason else ''}.",
        _of(model, gain),
        f"for it above {above:.4g}% with p below {surely:g} (Holm over rankings), against it below "
        f"{below:.4g}%; judged from {least:g} documents on",
        subject=row,
        reason=reason,
        decides=True,
        below_random=gain.is_below(0),
    )


def gain_of(model: ModelSummary) -> Number | None:
    """How far attention goes from random order to the smallest sets that change decisions."""
    return model.number(DELETION.id, ATTENTION, "gain")


CANDIDATES = (
    CandidateMeasure(
        "gain",
        DELETION.id_of(ATTENTION, "gain"),
        "of the way from random order to the smallest sets of words taken out (%)",
        gain_of,
    ),
)


def _percent(number: Number) -> str:
    return f"{100 * number.value:.1f}%"


def _of(model: ModelSummary, number: Number) -> str:
    text = of_all(number, model)
    counts = {
        "change only when all words are gone": "everything",
        "never change": "never",
    }
    others = [
        f"{round(found.value):,} {words}"
        for words, name in counts.items()
        if (found := model.number(DOCUMENT_COUNTS.id, name, VALUE)) is not None and found.value
    ]
    return "; ".join([*([text] if text else []), *others])


def direction(place: MeasurePlace, pair: Pair) -> tuple[str, str]:
    """Which way numbers of scores derived from attention are better; others are controls."""
    if place.table is DELETION and not is_derived(place.row):
        return no_direction("")
    return place.measure.better, ""


def is_compared(place: MeasurePlace, note: str) -> bool:
    """Whether a comparison shows a number: of scores derived from attention, and smallest sets."""
    if place.table is EXACT:  # says how much is known, not how good it is
        return False
    return place.table is not DELETION or is_derived(place.row)
